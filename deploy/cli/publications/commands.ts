import { Option } from 'commander';
import { approve, pause, reject, resume } from '../../../api/operators/decisions.ts';
import { readFreshness } from '../../../pipelines/editions/freshness.ts';
import { readHead } from '../../../pipelines/editions/heads.ts';
import {
  finalStates,
  findPublication,
  listPublications,
  openStates,
  type PublicationState,
} from '../../../pipelines/editions/publications.ts';
import { inTransaction } from '../../../pipelines/runtime/postgres.ts';
import type { RegisterName } from '../../../schemas/registers.ts';
import { wakePublish } from '../../../workflows/publication/schedule.ts';
import { dayOf, type PadronCommand, wholeNumber } from '../arguments.ts';
import { decide, gateLines, noteStopped, publicationLine, requirePublication } from '../catalogue.ts';
import { type CommandContext, exitStopped, type OutputOptions } from '../context.ts';
import { connectTemporal, followOf, followPublication } from './follow.ts';
import { addNoticesCommand } from './notices.ts';
import { addRunCommand, refuseWaiting } from './run.ts';

/** `padron publications run|list|show|approve|reject|pause|resume`. */
export function addPublicationsCommands(program: PadronCommand, context: CommandContext): void {
  const publications = program
    .command('publications')
    .description('Files of the registers as published: fetch them, see them, decide about them.')
    .examples('publications list --state en_cuarentena');
  addRunCommand(publications, context);

  publications
    .command('list')
    .description('Publications, newest first.')
    .registerOption()
    .addOption(new Option('--state <state>', 'in this state only').choices([...openStates, ...finalStates]))
    .limitOption(20)
    .examples('publications list --state en_cuarentena')
    .action(async (options: OutputOptions & { register?: RegisterName; state?: PublicationState; limit: number }) => {
      const { register = null, state = null, limit } = options;
      const rows = await listPublications(context.pool(), { register, state, maxRows: limit });
      context.showRows(options, rows, publicationLine, 'No publications.');
      // Paused registers are named, because their downloaded publications do not move on.
      for (const { paused_at, register: name } of await readFreshness(context.pool())) {
        if (paused_at !== null && (register === null || register === name)) context.note(`${name} is paused.`);
      }
    });

  publications
    .command('show')
    .description('One publication with its gates: what was found, what is allowed, whether it passed.')
    .argument('<id>', 'its number, as `padron publications list` shows it', wholeNumber)
    .examples('publications show 7')
    .action(async (id: number, options: OutputOptions) => {
      const publication = await requirePublication(context, id);
      const { decided_by, removed_at, gates } = publication;
      const lines = [publicationLine(publication)];
      if (decided_by !== null) lines.push(`  decided by ${decided_by}`);
      if (removed_at !== null) lines.push(`  its file left the archive on ${removed_at.toISOString()}`);
      context.show(options, publication, [...lines, ...gateLines(gates)]);
    });

  addNoticesCommand(publications, context);
  addQuarantineCommands(publications, context);
  addPauseCommands(publications, context);
}

interface DecisionOptions extends OutputOptions {
  by: string;
  reason?: string;
}

interface ApproveOptions extends DecisionOptions {
  date?: string;
  wait?: boolean;
  timeout: number;
}

function addQuarantineCommands(publications: PadronCommand, context: CommandContext): void {
  const who = 'who decides; kept with the publication';
  const why = 'why; kept with the publication';
  const adviceOf = (id: number) => ({ list: 'publications list', show: `publications show ${id}` });

  publications
    .command('approve')
    .description(
      "Takes a publication out of quarantine: it is compared with today's state, and its gates do not stop it.",
    )
    .argument('<id>', 'its number', wholeNumber)
    .decisionOptions(who, why)
    .option('--date <day>', 'date of its data (YYYY-MM-DD), when it came with none or a wrong one', dayOf)
    .waitOptions()
    .examples('publications approve 7 --by "Ana Ruiz" --reason "yearly clean-up" --wait')
    .action(async (id: number, options: ApproveOptions) => {
      const asked = options.wait ? await findPublication(context.pool(), id) : null;
      if (asked !== null) await refuseWaiting(context, asked.register);
      const client = await connectTemporal(context);
      const decision = { reason: options.reason ?? null, fechaDato: options.date ?? null };
      const actor = context.actor(options.by);
      const approved = await decide(context, (database) => approve(database, actor, id, decision), adviceOf(id));
      // If the process dies here, the sweeper (workflows/publication/sweeper.ts) goes on with the approved publication.
      await wakePublish(client, approved.register);
      if (!options.wait) return context.show(options, approved, publicationLine(approved));
      const done = await followPublication(await followOf(context, client, options.timeout), id);
      context.show(options, done, publicationLine(done));
      noteStopped(context, done);
      if (done.state !== 'sustituida') return;
      context.note('It makes no edition. See which one came first with: npx padron editions list');
      context.exitCode = exitStopped;
    });

  publications
    .command('reject')
    .description('Ends a publication in quarantine for good.')
    .argument('<id>', 'its number', wholeNumber)
    .decisionOptions(who, why)
    .examples('publications reject 7 --by "Ana Ruiz" --reason "cut file"')
    .action(async (id: number, options: DecisionOptions) => {
      const decision = { reason: options.reason ?? null };
      const actor = context.actor(options.by);
      const rejected = await decide(context, (database) => reject(database, actor, id, decision), adviceOf(id));
      context.show(options, rejected, publicationLine(rejected));
    });
}

function addPauseCommands(publications: PadronCommand, context: CommandContext): void {
  const show = async (options: OutputOptions, register: RegisterName, line: string) => {
    const { paused_at, paused_by, paused_reason } = await readHead(context.pool(), register);
    context.show(options, { register, paused_at, paused_by, paused_reason }, line);
  };

  publications
    .command('pause')
    .description('Makes no new edition of a register. Downloads go on, and an edition on its way is finished.')
    .registerArgument()
    .decisionOptions('who pauses; shown while it is paused', 'why; shown while it is paused')
    .remarks('An edition can still be undone while its register is paused: npx padron editions revert.')
    .examples('publications pause padron_reducido --by "Ana Ruiz" --reason "names look wrong since the 3rd"')
    .action(async (register: RegisterName, options: DecisionOptions) => {
      const actor = context.actor(options.by);
      const isNew = await inTransaction(context.pool(), (database) =>
        pause(database, actor, register, options.reason ?? null),
      );
      const line = isNew ? `${register} is paused: it makes no new edition.` : `${register} was paused already.`;
      await show(options, register, line);
    });

  publications
    .command('resume')
    .description('Lets a paused register make editions again: what was downloaded meanwhile is taken in order.')
    .registerArgument()
    .examples('publications resume padron_reducido')
    .action(async (register: RegisterName, options: OutputOptions) => {
      const client = await connectTemporal(context);
      const isNew = await inTransaction(context.pool(), (database) => resume(database, context.actor(), register));
      // If the process dies here, the sweeper (workflows/publication/sweeper.ts) finds the publications that wait.
      await wakePublish(client, register);
      await show(options, register, isNew ? `${register} makes editions again.` : `${register} was not paused.`);
    });
}
