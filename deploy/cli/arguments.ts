import { Argument, Command, Option } from 'commander';
import { z } from 'zod';
import { startOfLimaDay } from '../../schemas/lima-time.ts';
import { isRegisterName, type RegisterName, registerNames } from '../../schemas/registers.ts';
import { CommandError } from './context.ts';

/** How long `--wait` watches when `--timeout` is not given: six hours. */
const defaultTimeoutSeconds = 6 * 3600;

export const registerArgument = `one of: ${registerNames.join(', ')}`;

/** A command of `padron` or a group of commands. Its methods add options and help texts that several commands share. */
export class PadronCommand extends Command {
  override createCommand(name?: string): PadronCommand {
    return new PadronCommand(name);
  }

  override createOption(flags: string, description?: string): Option {
    return new NamedOption(flags, description);
  }

  override createArgument(name: string, description?: string): Argument {
    return new NamedArgument(name, description);
  }

  registerArgument(): this {
    return this.argument('<register>', registerArgument, registerOf);
  }

  registerOption(): this {
    return this.option('--register <register>', 'of this register only', registerOf);
  }

  accountOption(): this {
    return this.option('--account <id>', 'of this account only', wholeNumber);
  }

  limitOption(rows: number, description = 'how many at most'): this {
    return this.option('--limit <count>', description, wholeNumber, rows);
  }

  /** Adds the options for who decides and why. Both values are kept with the decision. */
  decisionOptions(who: string, why: string): this {
    return this.option('--by <name>', who, 'operator').option('--reason <text>', why);
  }

  waitOptions(
    wait = 'wait until it is final and, when published, materialised and notified',
    timeout = 'with --wait: give up watching after so long',
  ): this {
    return this.option('--wait', wait).option('--timeout <seconds>', timeout, wholeNumber, defaultTimeoutSeconds);
  }

  jsonOption(description = 'one JSON document on standard output'): this {
    return this.option('--json', description);
  }

  /**
   * Sets what the command does. Every command takes `--json`, so this also adds `--json` as the last option if it is
   * not there yet.
   */
  override action(run: Parameters<Command['action']>[0]): this {
    if (!this.options.some(({ long }) => long === '--json')) this.jsonOption();
    return super.action(run);
  }

  /** Adds a paragraph below the options in `--help`. */
  remarks(text: string): this {
    return this.addHelpText('after', `\n${text}`);
  }

  /** Adds examples at the end of `--help`. The `npx padron` at the start of each example is added here. */
  examples(...commands: string[]): this {
    const lines = commands.map((command) => `\n  $ npx padron ${command}`);
    return this.addHelpText('after', `\n${commands.length === 1 ? 'Example' : 'Examples'}:${lines.join('')}`);
  }
}

// Commander puts the name of the option or argument only into its own error messages. These classes put the name before
// the messages of our errors.

class NamedOption extends Option {
  override argParser<T>(parse: (text: string, previous: T) => T): this {
    return super.argParser<T>((text, previous) => named(this.long ?? this.flags, () => parse(text, previous)));
  }
}

class NamedArgument extends Argument {
  override argParser<T>(parse: (text: string, previous: T) => T): this {
    return super.argParser<T>((text, previous) => named(`<${this.name()}>`, () => parse(text, previous)));
  }
}

function named<T>(name: string, parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    throw new CommandError(`${name}: ${error.message}`, error.advice);
  }
}

// The functions below check the text of an option or argument. Their messages show the text, and not the name.

export function wholeNumber(text: string): number {
  const value = Number(text);
  if (!/^[0-9]{1,15}$/.test(text) || value < 1)
    throw new CommandError(`"${text}" is not a whole number from 1.`, 'Give the number in digits, for example 1.');
  return value;
}

export function registerOf(text: string): RegisterName {
  if (isRegisterName(text)) return text;
  throw new CommandError(`There is no register "${text}".`, `Registers: ${registerNames.join(', ')}.`);
}

/** Reads an argument that may be given several times. A register that is repeated counts once. */
export function registersOf(text: string, previous: RegisterName[] | undefined): RegisterName[] {
  return [...new Set([...(previous ?? []), registerOf(text)])];
}

/** Reads a day, written YYYY-MM-DD. @throws CommandError when there is no such day */
export function dayOf(text: string): string {
  const day = new Date(`${text}T00:00:00Z`);
  if (!Number.isNaN(day.getTime()) && day.toISOString().slice(0, 10) === text) return text;
  throw new CommandError(`"${text}" is not a day.`, 'Write it as YYYY-MM-DD.');
}

/** Reads a day (YYYY-MM-DD) as its first moment in Lima. Any other text must be an ISO 8601 instant with its offset. */
export function instantOf(text: string): Date {
  if (/^[0-9]{4}-[0-9]{2}-[0-9]{2}$/.test(text)) return startOfLimaDay(dayOf(text));
  const instant = new Date(text);
  if (/T.*(Z|[+-][0-9]{2}:[0-9]{2})$/.test(text) && !Number.isNaN(instant.getTime())) return instant;
  throw new CommandError(`"${text}" is no time.`, 'Write YYYY-MM-DD, or for example 2026-11-20T09:00:00-05:00.');
}

/** Returns the text without the spaces around it. @throws CommandError when nothing is left */
export function filled(text: string, option: string): string {
  const trimmed = text.trim();
  if (trimmed === '') throw new CommandError(`${option} is empty.`, `Give a text after ${option}.`);
  return trimmed;
}

export function emailOf(text: string): string {
  const email = z.email().safeParse(text);
  if (email.success) return email.data;
  throw new CommandError(`"${text}" is no mail address.`, 'Write it as in avisos@example.pe.');
}

/** @throws CommandError when the last day is before the first */
export function checkDays(from: string, until: string | null): void {
  if (until !== null && until < from)
    throw new CommandError(`The last day, ${until}, is before the first, ${from}.`, 'Change one of the two.');
}

export function noAccount(id: number): CommandError {
  return new CommandError(`There is no account ${id}.`, 'See them with: npx padron accounts list');
}
