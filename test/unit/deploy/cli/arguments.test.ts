import { describe, expect, test } from 'vitest';
import {
  checkDays,
  dayOf,
  emailOf,
  filled,
  instantOf,
  noAccount,
  PadronCommand,
  registerOf,
  registersOf,
  wholeNumber,
} from '../../../../deploy/cli/arguments.ts';
import { CommandError } from '../../../../deploy/cli/context.ts';
import { registerNames } from '../../../../schemas/registers.ts';

/** What an operator reads when an argument is refused. */
function refusal(check: () => unknown): { message: string; advice: string | undefined } {
  try {
    check();
  } catch (error) {
    expect(error).toBeInstanceOf(CommandError);
    const { message, advice } = error as CommandError;
    return { message, advice };
  }
  throw new Error('it was accepted');
}

test('a whole number is digits, at least 1, and exact in a double', () => {
  expect([wholeNumber('1'), wholeNumber('0020'), wholeNumber('999999999999999')]).toEqual([1, 20, 999_999_999_999_999]);
  for (const text of ['0', '-1', '1.5', '1e3', ' 7', '', 'siete', '1'.repeat(16)]) {
    expect(refusal(() => wholeNumber(text)).message).toBe(`"${text}" is not a whole number from 1.`);
  }
});

test('a register is named as the product names it; the refusal lists all names', () => {
  for (const name of registerNames) expect(registerOf(name)).toBe(name);
  expect(refusal(() => registerOf('Padron_Reducido'))).toEqual({
    message: 'There is no register "Padron_Reducido".',
    advice: `Registers: ${registerNames.join(', ')}.`,
  });
});

test('several registers keep their order, and one that is repeated counts once', () => {
  const words = ['sancionados', 'padron_reducido', 'sancionados'];
  const found = words.reduce<ReturnType<typeof registersOf> | undefined>(
    (all, word) => registersOf(word, all),
    undefined,
  );
  expect(found).toEqual(['sancionados', 'padron_reducido']);
});

test('a day exists in the calendar and is written with its zeros', () => {
  expect(dayOf('2028-02-29')).toBe('2028-02-29');
  for (const text of ['2027-02-29', '2027-13-01', '2027-1-1', '27-01-01', '2027-01-01T00:00', '']) {
    expect(refusal(() => dayOf(text))).toEqual({
      message: `"${text}" is not a day.`,
      advice: 'Write it as YYYY-MM-DD.',
    });
  }
});

test('a time is a day in Lima, or an instant with its offset', () => {
  expect(instantOf('2026-11-20').toISOString()).toBe('2026-11-20T05:00:00.000Z');
  expect(instantOf('2026-11-20T09:00:00-05:00').toISOString()).toBe('2026-11-20T14:00:00.000Z');
  expect(instantOf('2026-11-20T14:00:00Z').toISOString()).toBe('2026-11-20T14:00:00.000Z');
  // Without an offset it would be read in the time zone of whatever machine runs the command.
  for (const text of ['2026-11-20T09:00:00', '2026-11-20T29:00:00Z', 'hoy']) {
    expect(refusal(() => instantOf(text)).message).toBe(`"${text}" is no time.`);
  }
  expect(refusal(() => instantOf('2026-02-30')).message).toBe('"2026-02-30" is not a day.');
});

test('texts and mail addresses', () => {
  expect(filled('  Estudio Uno ', '--name')).toBe('Estudio Uno');
  expect(refusal(() => filled(' \t', '--name'))).toEqual({
    message: '--name is empty.',
    advice: 'Give a text after --name.',
  });
  expect(emailOf('avisos@example.pe')).toBe('avisos@example.pe');
  for (const text of ['avisos', 'avisos@', 'a b@example.pe']) {
    expect(refusal(() => emailOf(text)).message).toBe(`"${text}" is no mail address.`);
  }
});

test('the days of a contract are in order; an open end always is', () => {
  expect(checkDays('2026-01-01', null)).toBeUndefined();
  expect(checkDays('2026-01-01', '2026-01-01')).toBeUndefined();
  expect(refusal(() => checkDays('2026-01-02', '2026-01-01')).message).toBe(
    'The last day, 2026-01-01, is before the first, 2026-01-02.',
  );
  expect(noAccount(7).message).toBe('There is no account 7.');
});

describe('a command with the options that several share', () => {
  const parsed = (command: PadronCommand, ...words: string[]) => command.parse(words, { from: 'user' }).opts();
  const make = () => new PadronCommand('padron').exitOverride();

  test('has the defaults that its --help shows, and takes what is given', () => {
    const command = () => make().limitOption(20).decisionOptions('who', 'why').waitOptions().jsonOption();
    expect(parsed(command())).toEqual({ limit: 20, by: 'operator', timeout: 21_600 });
    const words = ['--limit', '3', '--by', 'Ana Ruiz', '--reason', 'cut file', '--wait', '--timeout', '5', '--json'];
    expect(parsed(command(), ...words)).toEqual({
      ...{ limit: 3, by: 'Ana Ruiz', reason: 'cut file', wait: true, timeout: 5, json: true },
    });
  });

  test('checks what it is given, and names the option or argument that is wrong', () => {
    const message = (command: PadronCommand, ...words: string[]) => refusal(() => parsed(command, ...words)).message;
    expect(message(make().limitOption(20), '--limit', 'all')).toBe('--limit: "all" is not a whole number from 1.');
    expect(message(make().registerOption(), '--register', 'ruc')).toBe('--register: There is no register "ruc".');
    expect(message(make().accountOption(), '--account', 'uno')).toBe('--account: "uno" is not a whole number from 1.');
    expect(message(make().registerArgument(), 'ruc')).toBe('<register>: There is no register "ruc".');
  });

  test('ends its --help with remarks and examples, each a line that can be copied', () => {
    let help = '';
    const one = make().configureOutput({ writeOut: (text) => (help += text) });
    one.jsonOption().remarks('It takes a minute.').examples('verify').outputHelp();
    expect(help).toMatch(/\n\nIt takes a minute\.\n\nExample:\n {2}\$ npx padron verify\n$/);
    help = '';
    const two = make().configureOutput({ writeOut: (text) => (help += text) });
    two.examples('verify', 'verify --json').outputHelp();
    expect(help).toMatch(/\n\nExamples:\n {2}\$ npx padron verify\n {2}\$ npx padron verify --json\n$/);
  });
});
