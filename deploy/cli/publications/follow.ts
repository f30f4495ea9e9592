import { setTimeout as delay } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { defaultPayloadConverter } from '@temporalio/common';
import { z } from 'zod';
import { type Correction, findCorrection } from '../../../pipelines/editions/corrections.ts';
import { findEdition } from '../../../pipelines/editions/editions.ts';
import { finalStates, findPublication, type Publication } from '../../../pipelines/editions/publications.ts';
import { temporalBlock } from '../../../pipelines/runtime/config.ts';
import type { Pool } from '../../../pipelines/runtime/postgres.ts';
import { makeTemporal, temporalAccess } from '../../../pipelines/runtime/temporal.ts';
import type { RegisterName } from '../../../schemas/registers.ts';
import { type FetchResult, publicationQueue, publishWorkflowId } from '../../../workflows/publication/messages.ts';
import type { ScheduledRun } from '../../../workflows/publication/schedule.ts';
import { isHeld } from '../catalogue.ts';
import { type CommandContext, CommandError } from '../context.ts';
import { ChangedLines, figure, progressText, share } from '../progress.ts';

const pollMs = 250;
const progressEveryMs = 1_000;
/** The number that Temporal's interface calls TASK_QUEUE_TYPE_WORKFLOW. */
const workflowTaskQueueType = 1;
/** Exit code that a shell reports for a program that Ctrl-C ended: 128 + SIGINT. */
const exitInterrupted = 130;

/** What the functions below need to wait for a workflow. `deadline` is in milliseconds since 1970. */
export interface Follow {
  pool: Pool;
  client: Client;
  note(text: string): void;
  deadline: number;
}

/**
 * Connects to the configured Temporal server. The connection closes when the command ends.
 * @throws CommandError when the server does not answer
 */
export async function connectTemporal(context: CommandContext): Promise<Client> {
  const config = context.configuration(temporalBlock);
  const { TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE } = config;
  try {
    const client = await makeTemporal(temporalAccess(TEMPORAL_ADDRESS, config), TEMPORAL_NAMESPACE);
    context.onEnd(() => client.connection.close());
    return client;
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    throw new CommandError(`Temporal does not answer at ${TEMPORAL_ADDRESS}.`, 'Start the stack with `npm start`.');
  }
}

/**
 * Prepares the command to wait for a workflow, and prints a note when no worker runs. After this call, Ctrl-C ends
 * the command with a note that the work goes on without the command.
 */
export async function followOf(context: CommandContext, client: Client, timeoutSeconds: number): Promise<Follow> {
  const deadline = Date.now() + timeoutSeconds * 1000;
  const leave = () => {
    context.note('The work goes on without this command. See it with: npx padron publications list');
    process.exit(exitInterrupted);
  };
  process.once('SIGINT', leave);
  context.onEnd(() => process.off('SIGINT', leave));
  const { pollers } = await client.workflowService.describeTaskQueue({
    namespace: client.options.namespace,
    taskQueue: { name: publicationQueue },
    taskQueueType: workflowTaskQueueType,
  });
  if (!pollers?.length) context.note('No worker runs: the work waits for one. `npm start` has one.');
  return { pool: context.pool(), client, note: (text) => context.note(text), deadline };
}

/** @throws CommandError when the deadline has passed */
export function checkDeadline(follow: Follow): void {
  if (Date.now() < follow.deadline) return;
  throw new CommandError(
    'It takes longer than --timeout; the work goes on without this command.',
    'See it with: npx padron publications list',
  );
}

/** Waits for a run of the workflow `fetch` and prints its progress. @throws CommandError when the fetch failed */
export async function followFetch(follow: Follow, run: ScheduledRun): Promise<FetchResult> {
  const handle = follow.client.workflow.getHandle(run.workflowId, run.runId);
  const progress = new StepProgress(follow, run.workflowId);
  // `handle.result` is called only after the run has ended. If the command gave up during that call, the connection
  // would close under the call.
  while ((await handle.describe()).status.name === 'RUNNING') {
    checkDeadline(follow);
    await progress.note();
    await delay(pollMs);
  }
  try {
    return (await handle.result()) as FetchResult;
  } catch (error) {
    throw new CommandError(
      `the fetch failed: ${reasonOf(error)}`,
      `See workflow ${run.workflowId} on Temporal's page; the next scheduled run tries again.`,
    );
  }
}

/** Temporal wraps the failure of an activity twice, so the reason is the message of the second cause. */
function reasonOf(error: unknown): string {
  const workflowFailure = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  if (!(workflowFailure instanceof Error)) return String(workflowFailure);
  return workflowFailure.cause instanceof Error ? workflowFailure.cause.message : workflowFailure.message;
}

/** Waits until a publication is settled (see `isSettled`). Prints each of its states and the progress of each step. */
export function followPublication(follow: Follow, id: number): Promise<Publication> {
  return followRecord(follow, `publication ${id}`, async () => {
    const publication = await findPublication(follow.pool, id);
    if (publication === null) throw new CommandError(`publication ${id} is gone: it was the same as an earlier one`);
    return { record: publication, stage: stageOf(publication), isSettled: isSettled(publication) };
  });
}

/**
 * Waits until a correction was refused, or until its edition is in ClickHouse and all events of that edition are
 * written. It also stops waiting when the correction itself waits for `padron editions adopt` (`isHeld`).
 */
export function followCorrection(follow: Follow, id: number): Promise<Correction> {
  return followRecord(follow, `correction ${id}`, async () => {
    const correction = await findCorrection(follow.pool, id);
    if (correction === null) throw new CommandError(`there is no correction ${id}`);
    const { register, edition: number, state } = correction;
    const edition = number === null ? null : await findEdition(follow.pool, register, number);
    const { materializada_at = null, avisada_at = null } = edition ?? {};
    return {
      record: correction,
      stage: stageOf({ ...correction, materializada_at, avisada_at }),
      isSettled: state === 'rechazada' || avisada_at !== null || isHeld(correction),
    };
  });
}

interface Seen<Row> {
  record: Row;
  /** The state in words. It is printed whenever it has changed. */
  stage: string;
  isSettled: boolean;
}

async function followRecord<Row extends { register: RegisterName }>(
  follow: Follow,
  name: string,
  look: () => Promise<Seen<Row>>,
): Promise<Row> {
  let noted = '';
  let progress: StepProgress | null = null;
  for (;;) {
    const { record, stage, isSettled } = await look();
    if (stage !== noted) follow.note(`${name}: ${stage}`);
    noted = stage;
    if (isSettled) return record;
    checkDeadline(follow);
    progress ??= new StepProgress(follow, publishWorkflowId(record.register));
    await progress.note();
    await delay(pollMs);
  }
}

/**
 * True when nothing more will happen by itself: the state is final and, if the publication became an edition, all
 * events of that edition are written (`avisada_at`). It is also true while the publication waits (`isHeld`) because the
 * catalogue lacks editions that Kafka has: only the operator can mend that.
 */
export function isSettled(publication: Publication): boolean {
  if (isHeld(publication)) return true;
  if (!(finalStates as readonly string[]).includes(publication.state)) return false;
  return publication.state !== 'publicada' || publication.avisada_at !== null;
}

type Staged = Pick<Publication, 'state_reason' | 'edition' | 'avisada_at' | 'materializada_at'> & { state: string };

export function stageOf({ state, state_reason, edition, avisada_at, materializada_at }: Staged): string {
  if (edition === null) return state_reason === null ? state : `${state} (${state_reason})`;
  if (avisada_at !== null) return `${state}, edition ${edition} materialised and notified`;
  return `${state}, edition ${edition}${materializada_at === null ? '' : ' materialised'}`;
}

/** Makes a progress line from the heartbeat of a download, of a comparison, or of writing an edition to Kafka. */
export const heartbeatLine = z.union([
  z
    .object({ bytes: z.number(), declaredBytes: z.number().nullable() })
    .transform(({ bytes, declaredBytes }) => `downloaded ${megabytes(bytes)}${begun(bytes, declaredBytes ?? 0)}`),
  z
    .object({ phase: z.string(), done: z.number(), total: z.number(), lines: z.number() })
    .transform(({ phase, done, total, lines }) => `comparing: ${phase}${begun(done, total)}, ${figure(lines)} lines`),
  z
    .object({ rows: z.number(), totalRows: z.number(), rowsPerSecond: z.number() })
    .transform(({ rows, totalRows, rowsPerSecond }) => progressText('publishing', rows, totalRows, rowsPerSecond)),
]);

function begun(done: number, total: number): string {
  return total === 0 || done === 0 ? '' : share(done, total);
}

function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toLocaleString('en', { maximumFractionDigits: 1 })} MB`;
}

/**
 * Prints the heartbeats of a workflow's activities as lines, at most once a second. It leaves out the lines that did not
 * change within that second.
 */
class StepProgress {
  readonly #follow: Follow;
  readonly #workflowId: string;
  readonly #changed = new ChangedLines();
  #nextAt = 0;

  constructor(follow: Follow, workflowId: string) {
    this.#follow = follow;
    this.#workflowId = workflowId;
  }

  async note(): Promise<void> {
    if (Date.now() < this.#nextAt) return;
    this.#nextAt = Date.now() + progressEveryMs;
    for (const line of this.#changed.of(await this.#lines())) this.#follow.note(`  ${line}`);
  }

  /** Errors are ignored, because an ended workflow or a busy server must not fail a command that only waits. */
  async #lines(): Promise<string[]> {
    try {
      const { raw } = await this.#follow.client.workflow.getHandle(this.#workflowId).describe();
      return (raw.pendingActivities ?? []).flatMap((activity) => {
        const lines = (activity.heartbeatDetails?.payloads ?? []).flatMap((payload) => {
          const progress = heartbeatLine.safeParse(defaultPayloadConverter.fromPayload(payload));
          return progress.success ? [progress.data] : [];
        });
        const attempt = activity.attempt ?? 1;
        const failure = activity.lastFailure?.message;
        if (attempt > 1 && failure) lines.push(`attempt ${attempt}, before it: ${failure}`);
        return lines;
      });
    } catch {
      return [];
    }
  }
}
