import { readFile, stat } from 'node:fs/promises';
import { shippedCalendar } from '../../api/calendar/data/shipped.ts';
import { parseDecree, parseTable } from '../../api/calendar/parse.ts';
import { type Addition, addToCalendar, type NewAddition, readAdditions } from '../../api/calendar/store.ts';
import type { Parsed } from '../../api/calendar/types.ts';
import { decodeUtf8 } from '../../pipelines/runtime/text-file.ts';
import { limaTime } from '../../schemas/lima-time.ts';
import type { PadronCommand } from './arguments.ts';
import { type CommandContext, CommandError, type OutputOptions } from './context.ts';

interface AddOptions extends OutputOptions {
  by: string;
  reason?: string;
}

/** Largest size of a file. A table has 84 dates and a decree at most 60 days, so a larger file can be neither. */
const maxFileBytes = 1024 * 1024;

/** Adds `padron calendar add-decree|add-table|list`, for decrees and tables that were published after the release. */
export function addCalendarCommands(program: PadronCommand, context: CommandContext): void {
  const calendar = program
    .command('calendar')
    .description('Decrees of non-working days and published due dates.')
    .examples('calendar list');

  addFileCommand(calendar, context, {
    name: 'add-decree',
    description: 'Adds a decree of national non-working days. A later file of the same decree replaces it.',
    shape: `{"decree": "D.S. 075-2026-PCM", "scope": "national", "taxBusinessDays": true,
   "days": [{"date": "2026-07-27", "name": "Día no laborable para el sector público"}], "completesYear": 2026}

completesYear (may be left out): with this decree all of that year's days are known.`,
    kind: 'decree',
    parse: parseDecree,
  });
  addFileCommand(calendar, context, {
    name: 'add-table',
    description: "Adds a year's due dates as published (Anexo I). They win over the rule and over tables before them.",
    shape: `{"year": 2027, "source": "SUNAT - Cronograma de obligaciones mensuales 2027",
   "periods": {"2027-01": {"0": "2027-02-15", "1": …, "2-3": …, "4-5": …, "6-7": …, "8-9": …, "good_taxpayers": …}, …}}`,
    kind: 'table',
    parse: parseTable,
  });
  addListCommand(calendar, context);
}

interface FileCommand {
  name: string;
  description: string;
  /** The form of the file, as --help shows it. */
  shape: string;
  kind: NewAddition['kind'];
  parse: (text: string, holidays: typeof shippedCalendar.holidays) => Parsed<NewAddition['value']>;
}

function addFileCommand(calendar: PadronCommand, context: CommandContext, command: FileCommand): void {
  const { name, description, shape } = command;
  calendar
    .command(name)
    .description(description)
    .argument('<file>', 'JSON in UTF-8, see below')
    .decisionOptions('who adds it; kept with it', 'why, or where it was read; kept with it')
    .remarks(`The file:\n  ${shape}\n\nRunning processes serve it within a minute.`)
    .examples(`calendar ${name} file.json --by "Ana Ruiz" --reason "El Peruano, 16 May"`)
    .action(async (file: string, options: AddOptions) => {
      const addition = await readAddition(file, command);
      const { by, reason = null } = options;
      const { id, isNew, addedAt } = await addToCalendar(context.pool(), addition, { by, reason });
      context.show(
        options,
        { id, added: isNew, added_at: limaTime(addedAt) },
        isNew
          ? `${titleOf(addition)} is added; running processes serve it within a minute.`
          : `${titleOf(addition)} was there already, added ${limaTime(addedAt)}: nothing is changed.`,
      );
    });
}

function addListCommand(calendar: PadronCommand, context: CommandContext): void {
  calendar
    .command('list')
    .description("The release's decrees and tables, then what operators added, in that order.")
    .examples('calendar list')
    .action(async (options: OutputOptions) => {
      const added = await readAdditions(context.pool());
      const shipped: NewAddition[] = [
        ...shippedCalendar.decrees.map((value) => ({ kind: 'decree' as const, value })),
        ...shippedCalendar.tables.map((value) => ({ kind: 'table' as const, value })),
      ];
      const lines = [
        ...shipped.map((entry) => [...columnsOf(entry), 'release'].join('\t')),
        ...added.map((entry) => [...columnsOf(entry), ...whoAdded(entry)].join('\t')),
      ];
      context.show(options, [...shipped.map((entry) => documentOf(entry, null)), ...added.map(addedDocument)], lines);
    });
}

/** @throws CommandError that names everything that is wrong with the file */
async function readAddition(file: string, { kind, parse }: FileCommand): Promise<NewAddition> {
  const parsed = parse(await readText(file), shippedCalendar.holidays);
  if (parsed.ok) return { kind, value: parsed.value } as NewAddition;
  throw new CommandError(
    `${file} cannot be added:\n${parsed.problems.map((problem) => `  ${problem}`).join('\n')}`,
    'Nothing is added. Mend the file and run the command again; --help shows its form.',
  );
}

async function readText(file: string): Promise<string> {
  const decoded = decodeUtf8(await readBytes(file));
  if (decoded.ok) return decoded.text;
  throw new CommandError(
    `${file} cannot be added: ${decoded.problem}`,
    'Nothing is added. Save the file as UTF-8 in a text editor, and look at its accents before you run this again.',
  );
}

async function readBytes(file: string): Promise<Buffer> {
  try {
    const { size } = await stat(file);
    if (size <= maxFileBytes) return await readFile(file);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new CommandError(`${file} cannot be read (${code}).`, 'Give the path of a JSON file.');
  }
  throw new CommandError(`${file} has more than ${maxFileBytes} bytes.`, 'A decree or a table is far smaller.');
}

function titleOf(entry: NewAddition): string {
  return entry.kind === 'decree' ? entry.value.decree : `The table of ${entry.value.year}`;
}

function columnsOf(entry: NewAddition): string[] {
  return entry.kind === 'decree'
    ? ['decree', entry.value.decree, entry.value.days.map((day) => day.date).join(' ')]
    : ['table', String(entry.value.year), entry.value.source];
}

function whoAdded({ id, addedBy, addedAt, reason }: Addition): string[] {
  return [`${id}: ${addedBy}, ${limaTime(addedAt)}`, ...(reason === null ? [] : [reason])];
}

function documentOf({ kind, value }: NewAddition, added: unknown) {
  return { kind, value, added };
}

function addedDocument(addition: Addition) {
  const { id, addedBy, reason, addedAt } = addition;
  return documentOf(addition, { id, by: addedBy, reason, at: limaTime(addedAt) });
}
