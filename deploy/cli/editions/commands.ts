import type { Client } from '@temporalio/client';
import { previewRevert, type RevertPreview } from '../../../api/operators/conflicts.ts';
import { republish, revert } from '../../../api/operators/decisions.ts';
import { type Listed, nothingListed, readListed } from '../../../api/operators/listed.ts';
import { type Correction, correctionOf } from '../../../pipelines/editions/corrections.ts';
import {
  type Edition,
  type EditionPartition,
  editionPartitions,
  findEdition,
  listEditions,
} from '../../../pipelines/editions/editions.ts';
import { findPublication, type Publication } from '../../../pipelines/editions/publications.ts';
import type { RegisterName } from '../../../schemas/registers.ts';
import { type PadronCommand, wholeNumber } from '../arguments.ts';
import { decide, gateLines, isHeld, listedLines, openConfiguredArchive } from '../catalogue.ts';
import { type CommandContext, CommandError, exitStopped, type OutputOptions } from '../context.ts';
import { figure } from '../progress.ts';
import { addAdoptCommand } from './adopt.ts';

export function addEditionsCommands(program: PadronCommand, context: CommandContext): void {
  const editions = program
    .command('editions')
    .description('States that the registers have had, each with a number.')
    .examples('editions list --register padron_reducido');

  editions
    .command('list')
    .description('Editions, newest first.')
    .registerOption()
    .limitOption(20)
    .examples('editions list', 'editions list --register padron_reducido --json')
    .action(async (options: OutputOptions & { register?: RegisterName; limit: number }) => {
      const rows = await listEditions(context.pool(), { register: options.register ?? null, maxRows: options.limit });
      context.showRows(options, rows, editionLine, 'No editions yet.');
    });

  editions
    .command('show')
    .description('One edition: its counts, where it ends in Kafka, what it corrects or is corrected by, its gates.')
    .registerArgument()
    .argument('<number>', 'number of the edition', wholeNumber)
    .jsonOption()
    .option('--conflicts', 'of a correction: the rows that it left as they are (the first fifty)')
    .examples('editions show padron_reducido 12', 'editions show padron_reducido 13 --conflicts')
    .action(async (register: RegisterName, number: number, options: OutputOptions & { conflicts?: boolean }) => {
      const edition = await findEdition(context.pool(), register, number);
      if (edition === null)
        throw new CommandError(
          `${register} has no edition ${number}.`,
          `See them with: npx padron ${listOf(register)}`,
        );
      const facts = await factsOf(context, edition);
      if (options.conflicts) facts.conflicts = await conflictsOf(context, edition);
      context.show(options, facts, factLines(facts));
    });

  addRevertCommand(editions, context);
  addAdoptCommand(editions, context);

  editions
    .command('republish')
    .description(
      'Sends an edition into Kafka once more: where rows of it are missing in ClickHouse, and it waits for them.',
    )
    .registerArgument()
    .argument('<number>', 'number of the edition', wholeNumber)
    .examples('editions republish padron_reducido 12')
    .action(async (register: RegisterName, number: number, options: OutputOptions) => {
      const edition = await decide(
        context,
        (client) => republish(client, context.actor(), { register, number }),
        adviceOf(register, number),
      );
      await wake(context, register);
      context.show(options, edition, `Edition ${number} of ${register} is to be published again.`);
    });
}

interface RevertOptions extends OutputOptions {
  by: string;
  reason: string;
  dryRun?: boolean;
  wait?: boolean;
  timeout: number;
}

function addRevertCommand(editions: PadronCommand, context: CommandContext): void {
  editions
    .command('revert')
    .description('Undoes an edition: a new edition gives each of its rows the value from before. Nothing is deleted.')
    .registerArgument()
    .argument('<number>', 'number of the edition to undo', wholeNumber)
    .requiredOption('--reason <text>', 'why; kept with the correction')
    .option('--by <name>', 'who decides; kept with the correction', 'operator')
    .option('--dry-run', 'only counts what it would undo, and what it would leave as it is')
    .waitOptions('wait until the correction is materialised and notified')
    .remarks(
      `A row that a later edition changed again is left as it is and counted as a conflict. Deliveries that were not sent yet are
cancelled; those that were sent are followed by one that marks the correction. The first edition of a register, and one
that wrote all rows anew, cannot be undone. The file that was undone goes to quarantine if the site still offers it.`,
    )
    .examples('editions revert padron_reducido 12 --reason "names of another file" --by "Ana Ruiz" --wait')
    .action(async (register: RegisterName, number: number, options: RevertOptions) => {
      if (options.dryRun) return showRevert(context, register, number, options);
      const requested = await decide(
        context,
        (client) => revert(client, context.actor(options.by), { register, number }, options.reason),
        adviceOf(register, number),
      );
      const client = await wake(context, register);
      if (!options.wait) return context.show(options, requested, correctionLine(requested));
      const { followOf, followCorrection } = await import('../publications/follow.ts');
      const done = await followCorrection(await followOf(context, client, options.timeout), requested.id);
      context.show(options, done, correctionLine(done));
      if (done.state === 'rechazada' || isHeld(done)) context.exitCode = exitStopped;
    });
}

async function showRevert(
  context: CommandContext,
  register: RegisterName,
  number: number,
  options: OutputOptions,
): Promise<void> {
  const edition = await findEdition(context.pool(), register, number);
  if (edition === null)
    throw new CommandError(`${register} has no edition ${number}.`, `See them with: npx padron ${listOf(register)}`);
  const dependencies = { pool: context.pool(), archive: await openConfiguredArchive(context) };
  const preview = await previewRevert(dependencies, edition, new AbortController().signal);
  if (preview === null)
    throw new CommandError(`Edition ${number} has too many changes to count this.`, 'Leave --dry-run out.');
  context.show(options, preview, revertLines(preview));
}

function revertLines({ undone, conflicts, listed, later }: RevertPreview): string[] {
  const counts = Object.entries(conflicts).filter(([, count]) => count > 0);
  return [
    `${figure(undone)} rows would be undone; ${figure(later)} editions came later.`,
    ...(counts.length === 0 ? ['No conflicts.'] : counts.map(([reason, count]) => `  ${reason}: ${figure(count)}`)),
    ...listed.map(({ ruc, reason }) => `  ${ruc}  ${reason}`),
  ];
}

/**
 * Wakes the workflow that carries out the operator's order. If this process dies before the wake-up, the worker's
 * sweeper finds the order. Temporal's client is imported only here, because listing editions does not need it.
 */
async function wake(context: CommandContext, register: RegisterName): Promise<Client> {
  const { connectTemporal } = await import('../publications/follow.ts');
  const { wakePublish } = await import('../../../workflows/publication/schedule.ts');
  const client = await connectTemporal(context);
  await wakePublish(client, register);
  return client;
}

function listOf(register: RegisterName): string {
  return `editions list --register ${register}`;
}

function adviceOf(register: RegisterName, number: number) {
  return { list: listOf(register), show: `editions show ${register} ${number}` };
}

/** An edition with all that the catalogue knows about it. */
interface EditionFacts extends Edition {
  /** The offset in each partition of Kafka where the edition ends. Empty before the edition is sent to Kafka. */
  partitions: EditionPartition[];
  /** The order to undo this edition, if there is one. */
  corrected_by: Correction | null;
  /** The gates of the publication that the edition was made from. */
  gates: Publication['gates'];
  /** If this is a correction: RUCs that it left as they are, because they changed again. Only with --conflicts. */
  conflicts?: Listed;
}

async function factsOf(context: CommandContext, edition: Edition): Promise<EditionFacts> {
  const pool = context.pool();
  const { register, number, publication_id } = edition;
  const [partitions, corrected_by, publication] = await Promise.all([
    editionPartitions(pool, register, number),
    correctionOf(pool, register, number),
    publication_id === null ? null : findPublication(pool, publication_id),
  ]);
  return { ...edition, partitions, corrected_by, gates: publication?.gates ?? [] };
}

const maxConflictsShown = 50;

async function conflictsOf(context: CommandContext, { register, number, corrects }: Edition): Promise<Listed> {
  if (corrects === null)
    throw new CommandError(`Edition ${number} of ${register} is no correction.`, 'Leave --conflicts out.');
  const correction = await correctionOf(context.pool(), register, corrects);
  const sha256 = (correction?.compare_result?.rejectsSha256 ?? null) as string | null;
  if (sha256 === null) return nothingListed;
  return readListed(await openConfiguredArchive(context), register, sha256, maxConflictsShown);
}

function editionLine(edition: Edition): string {
  const { register, number, fecha_dato, changes, corrects, detected_at } = edition;
  let step = 'frozen';
  if (edition.publicada_at !== null) step = 'published';
  if (edition.materializada_at !== null) step = 'materialised';
  if (edition.avisada_at !== null) step = 'notified';
  const undone = corrects === null ? [] : [`undoes ${corrects}`];
  const parts = [`${register} ${number}`, fecha_dato, `${figure(changes)} changes`, ...undone, step];
  return [...parts, `detected ${detected_at.toISOString()}`].join('  ');
}

/** The counts that are printed for a person. The JSON document has all counts. */
const shownCounts = [
  ...(['rows', 'stateRows', 'baseline', 'inserted', 'updated', 'deleted', 'rejected', 'repaired'] as const),
  ...(['duplicates', 'kept', 'keptCells', 'conflicts', 'notices'] as const),
];

function factLines(edition: EditionFacts): string[] {
  const { counts, publication_id, corrects, corrected_by, overlay_sha256, partitions, gates, conflicts } = edition;
  const figures = shownCounts.flatMap((name) => {
    const value = counts[name];
    return typeof value === 'number' && value > 0 ? [`  ${name}: ${figure(value)}`] : [];
  });
  return [
    editionLine(edition),
    publication_id === null ? `  undoes edition ${corrects}` : `  from publication #${publication_id}`,
    ...(corrected_by === null ? [] : [`  ${undoneText(corrected_by)}`]),
    ...figures,
    `  change file ${edition.change_file_sha256}`,
    overlay_sha256 === null ? '  no overlay: the state is the publication' : `  overlay ${overlay_sha256}`,
    ...partitions.map(
      ({ partition, rows, end_offset }) => `  partition ${partition}: ${rows} rows, ends at ${end_offset}`,
    ),
    ...(publication_id === null ? [] : gateLines(gates)),
    ...(conflicts === undefined ? [] : conflicts.lines.length === 0 ? ['  no conflicts'] : listedLines(conflicts)),
  ];
}

function undoneText({ edition, state, state_reason, requested_by, reason }: Correction): string {
  const order = `ordered by ${requested_by}${reason === null ? '' : ` (${reason})`}`;
  if (edition !== null) return `undone by edition ${edition}, ${order}`;
  return `to be undone, ${state}${state_reason === null ? '' : ` (${state_reason})`}, ${order}`;
}

function correctionLine({ register, corrects, edition, state, state_reason, compare_result }: Correction): string {
  const { conflicts } = (compare_result?.counts ?? {}) as { conflicts?: number };
  const parts = [`${register} ${corrects} is to be undone`, state];
  if (edition !== null) parts.push(`edition ${edition}`);
  if (conflicts !== undefined) parts.push(`${figure(conflicts)} conflicts`);
  if (state_reason !== null) parts.push(state_reason);
  return parts.join('  ');
}
