import { pipeline } from 'node:stream/promises';
import { z } from 'zod';
import { type Listed, nothingListed, readListed } from '../../api/operators/listed.ts';
import { type RegisterFreshness, readFreshness } from '../../pipelines/editions/freshness.ts';
import type { Publication } from '../../pipelines/editions/publications.ts';
import { type Replica, readReplicas } from '../../pipelines/replicas/catalogue.ts';
import { type PadronCommand, wholeNumber } from './arguments.ts';
import { listedLines, openConfiguredArchive, requirePublication } from './catalogue.ts';
import { type CommandContext, CommandError, type OutputOptions } from './context.ts';
import { figure } from './progress.ts';

/** `padron registers`: how fresh every register is, and which registers need an operator. */
export function addRegistersCommand(program: PadronCommand, context: CommandContext): void {
  program
    .command('registers')
    .description(
      'All registers at a glance: edition, date of the data, last probe, what is late, paused or in quarantine.',
    )
    .remarks(
      '"asked" is when the official site last answered; "checked" is the last comparison of the state with the archive.',
    )
    .examples('registers', 'registers --json')
    .action(async (options: OutputOptions) => {
      const now = new Date();
      const rows = await readFreshness(context.pool(), now);
      const replicas = await readReplicas(context.pool());
      if (replicas.length < 2) return context.show(options, rows, registerLines(rows, now, context));
      const document = rows.map((row) => ({ ...row, replicas: replicas.map((replica) => replicaOf(replica, row)) }));
      context.show(options, document, [...registerLines(rows, now, context), ...replicas.flatMap(replicaLines)]);
    });
}

function replicaOf({ name, state, reason, behind }: Replica, { register }: RegisterFreshness) {
  return { name, state, reason, lacks: behind[register] ?? null };
}

/** A line for each ClickHouse replica, and one for each register of which it lacks the served edition. */
function replicaLines({ name, state, reason, behind }: Replica): string[] {
  const lacks = Object.entries(behind).map(
    ([register, { holds, served }]) => `  ${register}: it holds edition ${holds === 0 ? 'none' : holds} of ${served}`,
  );
  return [`replica ${name}: ${state}${reason === null ? '' : `, ${reason}`}`, ...lacks];
}

const titles = ['register', 'edition', 'data of', 'age', 'rows', 'asked', 'last publication', 'checked', 'state'];

function registerLines(registers: readonly RegisterFreshness[], now: Date, { colours }: CommandContext): string[] {
  const cells = [titles, ...registers.map((register) => cellsOf(register, now))];
  const widths = titles.map((_, column) => Math.max(...cells.map((row) => row[column]!.length)));
  const lines = cells.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column]!))
      .join('  ')
      .trimEnd(),
  );
  const [title, ...rest] = lines;
  return [colours.bold(title!), ...rest.flatMap((line, index) => [line, ...remarksOf(registers[index]!)])];
}

function cellsOf(register: RegisterFreshness, now: Date): string[] {
  const { last_publication: publication, last_reconciliation: checked } = register;
  return [
    register.register,
    register.edition === 0 ? '-' : String(register.edition),
    register.fecha_dato ?? '-',
    ago(register.published_at, now),
    register.rows === null ? '-' : figure(register.rows),
    ago(register.probed_at, now),
    publication === null ? '-' : `#${publication.id} ${publication.state}`,
    checked === null ? '-' : `${checked.equal ? 'equal' : 'DIFFERS'} ${ago(new Date(checked.checked_at), now)}`,
    stateOf(register),
  ];
}

function stateOf({ edition, late, paused_at, quarantined, on_its_way }: RegisterFreshness): string {
  const states = [
    ...(paused_at === null ? [] : ['paused']),
    ...(late.length === 0 ? [] : [edition === 0 ? 'not loaded' : 'late']),
    ...(quarantined === 0 ? [] : [`${quarantined} in quarantine`]),
    ...(on_its_way === null ? [] : [`edition ${on_its_way} on its way`]),
  ];
  return states.length === 0 ? 'fresh' : states.join(', ');
}

/** Why a register is in its state, and what the operator can do next. */
function remarksOf(row: RegisterFreshness): string[] {
  const { register, late, paused_at, paused_by, paused_reason, quarantined, last_reconciliation: checked } = row;
  const remarks: string[] = [];
  if (paused_at !== null) remarks.push(`paused by ${paused_by}${paused_reason === null ? '' : `: ${paused_reason}`}`);
  if (late.length > 0) remarks.push(`late: ${late.join('; ')}`);
  if (quarantined > 0) remarks.push(`npx padron publications list --register ${register} --state en_cuarentena`);
  if (checked !== null && !checked.equal) {
    remarks.push(`${checked.differences} differences from the archive: npx padron verify --register ${register}`);
  }
  return remarks.map((remark) => `  ${remark}`);
}

/** The time since `time`: in minutes below two hours, in hours below three days, else in days. */
function ago(time: Date | null, now: Date): string {
  if (time === null) return '-';
  const minutes = Math.max(0, Math.floor((now.getTime() - time.getTime()) / 60_000));
  if (minutes < 120) return `${minutes} min`;
  return minutes < 72 * 60 ? `${Math.floor(minutes / 60)} h` : `${Math.floor(minutes / 1440)} days`;
}

interface RejectsOptions extends OutputOptions {
  raw?: boolean;
  limit: number;
}

/** The part of a publication's `compare_result` that is read here. The column is null before the comparison. */
const comparedSchema = z.object({
  rejectsSha256: z.string().nullable(),
  counts: z.object({ rejectedByReason: z.record(z.string(), z.number()) }),
});

/** `padron rejects`: shows the lines of a publication that are not a row, are repeated, or had to be repaired. */
export function addRejectsCommand(program: PadronCommand, context: CommandContext): void {
  program
    .command('rejects')
    .description(
      'Lines of a publication that are no row, repeats and mended ones, with their reasons. RUCs are masked.',
    )
    .argument('<publication>', 'its number, as `padron publications list` shows it', wholeNumber)
    .limitOption(50, 'how many lines at most')
    .option('--raw', 'the archived list itself, as NDJSON with the lines as published: personal data')
    .examples('rejects 7', 'rejects 7 --json', 'rejects 7 --raw > rejects.ndjson')
    .action(async (id: number, options: RejectsOptions) => {
      if (options.raw && options.json) throw new CommandError('--raw is NDJSON already.', 'Leave --json out.');
      const publication = await requirePublication(context, id);
      const compared = comparedSchema.nullable().parse(publication.compare_result);
      const sha256 = compared?.rejectsSha256 ?? null;
      if (options.raw && sha256 !== null) return await writeRaw(context, publication, sha256);
      const { register } = publication;
      const listed =
        sha256 === null
          ? nothingListed
          : await readListed(await openConfiguredArchive(context), register, sha256, options.limit);
      const counts = compared?.counts.rejectedByReason ?? null;
      context.show(options, { publication: id, register, counts, ...listed }, rejectLines(publication, counts, listed));
    });
}

async function writeRaw(context: CommandContext, { register }: Publication, sha256: string): Promise<void> {
  context.note('Lines as published: they may hold names and ids of natural persons. Delete the copy when it is read.');
  const archive = await openConfiguredArchive(context);
  await pipeline(await archive.read({ register, kind: 'rejects', sha256 }), context.output, { end: false });
}

function rejectLines({ id }: Publication, counts: Record<string, number> | null, listed: Listed): string[] {
  if (counts === null) return [`Publication ${id} was not compared: nothing is known of its lines.`];
  const reasons = Object.entries(counts).filter(([, count]) => count > 0);
  reasons.sort(([, one], [, other]) => other - one);
  if (reasons.length === 0) return [`Publication ${id} has no rejected, repeated or mended lines.`];
  return [...reasons.map(([reason, count]) => `${reason}: ${figure(count)}`), ...listedLines(listed)];
}
