import { setTimeout as delay } from 'node:timers/promises';
import { type Client, ServiceError } from '@temporalio/client';
import { defaultPayloadConverter } from '@temporalio/common';
import { z } from 'zod';
import { type Correction, findCorrection } from '../../pipelines/editions/corrections.ts';
import { type Edition, findEdition } from '../../pipelines/editions/editions.ts';
import { finalStates, findPublication, type Publication } from '../../pipelines/editions/publications.ts';
import { temporalBlock } from '../../pipelines/runtime/config.ts';
import type { Pool } from '../../pipelines/runtime/postgres.ts';
import { makeTemporal } from '../../pipelines/runtime/temporal.ts';
import { type FetchResult, publicationQueue, publishWorkflowId } from '../../workflows/publication/messages.ts';
import type { ScheduledRun } from '../../workflows/publication/schedule.ts';
import { type CommandContext, CommandError } from './context.ts';
import { progressText } from './output.ts';

const pollMs = 250;
const progressEveryMs = 1_000;

export interface Follow {
  pool: Pool;
  client: Client;
  note(text: string): void;
  deadline: number;
}

/** Nothing more will happen to it by itself: final, and when it became an edition, materialised and notified. */
export function isSettled(publication: Publication): boolean {
  if (!(finalStates as readonly string[]).includes(publication.state)) return false;
  return publication.state !== 'publicada' || publication.avisada_at !== null;
}

/** Waits for a run of `fetch`, telling its progress. @throws CommandError when it failed */
export async function followFetch(follow: Follow, run: ScheduledRun): Promise<FetchResult> {
  const handle = follow.client.workflow.getHandle(run.workflowId, run.runId);
  const teller = new Teller(follow, run.workflowId);
  // Asked for when it is there: a command that gives up would leave a call that waits for it on a closed connection.
  while ((await handle.describe()).status.name === 'RUNNING') {
    checkDeadline(follow);
    await teller.tell();
    await delay(pollMs);
  }
  try {
    return (await handle.result()) as FetchResult;
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    throw new CommandError(
      `the fetch failed: ${cause instanceof Error ? (cause.cause instanceof Error ? cause.cause.message : cause.message) : cause}`,
      `See workflow ${run.workflowId} on Temporal's page; the next scheduled run tries again.`,
    );
  }
}

/** Waits until a publication is settled, telling each state and the progress of each step. */
export async function followPublication(follow: Follow, id: number): Promise<Publication> {
  let told = '';
  let teller: Teller | null = null;
  for (;;) {
    const publication = await findPublication(follow.pool, id);
    if (publication === null) throw new CommandError(`publication ${id} is gone: it was the same as an earlier one`);
    const state = stageOf(publication);
    if (state !== told) follow.note(`publication ${id}: ${state}`);
    told = state;
    if (isSettled(publication)) return publication;
    checkDeadline(follow);
    teller ??= new Teller(follow, publishWorkflowId(publication.register));
    await teller.tell();
    await delay(pollMs);
  }
}

/** Waits until an order to undo an edition is refused, or is an edition that is materialised and notified. */
export async function followCorrection(follow: Follow, id: number): Promise<Correction> {
  let told = '';
  let teller: Teller | null = null;
  for (;;) {
    const correction = await findCorrection(follow.pool, id);
    if (correction === null) throw new CommandError(`there is no correction ${id}`);
    const { register, edition: number, state } = correction;
    const edition = number === null ? null : await findEdition(follow.pool, register, number);
    const stage = stageOf({ ...correction, edition: number, ...timesOf(edition) });
    if (stage !== told) follow.note(`correction ${id}: ${stage}`);
    told = stage;
    if (state === 'rechazada' || (edition !== null && edition.avisada_at !== null)) return correction;
    checkDeadline(follow);
    teller ??= new Teller(follow, publishWorkflowId(register));
    await teller.tell();
    await delay(pollMs);
  }
}

function timesOf(edition: Edition | null) {
  return { materializada_at: edition?.materializada_at ?? null, avisada_at: edition?.avisada_at ?? null };
}

type Staged = Pick<Publication, 'state_reason' | 'edition' | 'avisada_at' | 'materializada_at'> & { state: string };

function stageOf(publication: Staged): string {
  const { state, edition } = publication;
  if (edition === null) return publication.state_reason === null ? state : `${state} (${publication.state_reason})`;
  if (publication.avisada_at !== null) return `${state}, edition ${edition} materialised and notified`;
  if (publication.materializada_at !== null) return `${state}, edition ${edition} materialised`;
  return `${state}, edition ${edition}`;
}

/** @throws CommandError when the time is over */
export function checkDeadline(follow: Follow): void {
  if (Date.now() < follow.deadline) return;
  throw new CommandError(
    'It takes longer than --timeout; the work goes on without this command.',
    'See it with: npx padron publications list',
  );
}

const progressSchema = z.union([
  z
    .object({ bytes: z.number(), declaredBytes: z.number().nullable() })
    .transform(({ bytes, declaredBytes }) => `downloaded ${megabytes(bytes)}${share(bytes, declaredBytes)}`),
  z
    .object({ phase: z.string(), done: z.number(), total: z.number(), lines: z.number() })
    .transform(({ phase, done, total, lines }) => `comparing: ${phase}${share(done, total)}, ${number(lines)} lines`),
  z
    .object({ rows: z.number(), totalRows: z.number(), rowsPerSecond: z.number() })
    .transform(({ rows, totalRows, rowsPerSecond }) => progressText('publishing', rows, totalRows, rowsPerSecond)),
]);

/** What the steps of a workflow report as their heartbeat, once a second and only when it changed. */
class Teller {
  readonly #follow: Follow;
  readonly #workflowId: string;
  #last = '';
  #nextAt = 0;

  constructor(follow: Follow, workflowId: string) {
    this.#follow = follow;
    this.#workflowId = workflowId;
  }

  async tell(): Promise<void> {
    if (Date.now() < this.#nextAt) return;
    this.#nextAt = Date.now() + progressEveryMs;
    for (const line of await this.#lines()) {
      if (line !== this.#last) this.#follow.note(`  ${line}`);
      this.#last = line;
    }
  }

  /** Progress is a courtesy: a workflow that has just ended, or a busy server, is no failure of the command. */
  async #lines(): Promise<string[]> {
    try {
      const { raw } = await this.#follow.client.workflow.getHandle(this.#workflowId).describe();
      return (raw.pendingActivities ?? []).flatMap((activity) => {
        const lines = (activity.heartbeatDetails?.payloads ?? []).flatMap((payload) => {
          const progress = progressSchema.safeParse(defaultPayloadConverter.fromPayload(payload));
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

function share(done: number, total: number | null): string {
  return total === null || total === 0 || done === 0 ? '' : ` (${Math.floor((done / total) * 100)} %)`;
}

function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toLocaleString('en', { maximumFractionDigits: 1 })} MB`;
}

function number(value: number): string {
  return value.toLocaleString('en');
}

/** TASK_QUEUE_TYPE_WORKFLOW of the server's interface. */
const workflowTasks = 1;
const exitInterrupted = 130;

/** A client of the configuration's server; closed when the command ends. @throws CommandError when it does not answer */
export async function connectTemporal(context: CommandContext): Promise<Client> {
  const { TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE } = context.configuration(temporalBlock);
  try {
    const client = await makeTemporal(TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE);
    context.onEnd(() => client.connection.close());
    return client;
  } catch (error) {
    if (!(error instanceof ServiceError) && !(error instanceof Error)) throw error;
    throw new CommandError(`Temporal does not answer at ${TEMPORAL_ADDRESS}.`, 'Start the stack with `npm start`.');
  }
}

/** For a person who waits: says when nobody is there to do the work, and on Ctrl-C that it goes on. */
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
    taskQueueType: workflowTasks,
  });
  if (!pollers?.length) context.note('No worker runs: the work waits for one. `npm start` has one.');
  return { pool: context.pool(), client, note: (text) => context.note(text), deadline };
}
