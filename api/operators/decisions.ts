import { type Correction, requestCorrection } from '../../pipelines/editions/corrections.ts';
import { approvePublication, publishAgain, rejectPublication } from '../../pipelines/editions/decisions.ts';
import type { Edition } from '../../pipelines/editions/editions.ts';
import { pauseRegister, readHead, resumeRegister } from '../../pipelines/editions/heads.ts';
import { findPublication, type Publication } from '../../pipelines/editions/publications.ts';
import { inTransaction, type Pool, type PoolClient } from '../../pipelines/runtime/postgres.ts';
import type { RegisterName } from '../../schemas/registers.ts';
import type { OrderedRun } from '../../workflows/publication/schedule.ts';
import { type Actor, recordAct } from './audit.ts';

// What operators decide about publications, editions and registers. The console and the command `padron` both decide by
// these functions. Each runs in the caller's transaction and records the act there. The caller wakes the workflow
// afterwards; if it dies before that, the worker's sweeper finds the work.

/** @throws DecisionError as `approvePublication` */
export async function approve(
  client: PoolClient,
  actor: Actor,
  id: number,
  { reason, fechaDato }: { reason: string | null; fechaDato: string | null },
): Promise<Publication> {
  const before = await findPublication(client, id);
  const after = await approvePublication(client, id, { by: actor.name, reason, fechaDato });
  const act = { act: 'publications approve', subject: publicationSubject(id), reason };
  await recordAct(client, actor, { ...act, before: publicationFacts(before), after: publicationFacts(after) });
  return after;
}

/** @throws DecisionError as `rejectPublication` */
export async function reject(
  client: PoolClient,
  actor: Actor,
  id: number,
  { reason }: { reason: string | null },
): Promise<Publication> {
  const before = await findPublication(client, id);
  const after = await rejectPublication(client, id, { by: actor.name, reason });
  const act = { act: 'publications reject', subject: publicationSubject(id), reason };
  await recordAct(client, actor, { ...act, before: publicationFacts(before), after: publicationFacts(after) });
  return after;
}

function publicationFacts(publication: Publication | null) {
  if (publication === null) return null;
  const { register, state, state_reason, decided_by, fecha_dato } = publication;
  return { register, state, state_reason, decided_by, fecha_dato };
}

/** Orders that an edition be undone. @throws DecisionError as `requestCorrection` */
export async function revert(
  client: PoolClient,
  actor: Actor,
  { register, number }: { register: RegisterName; number: number },
  reason: string | null,
): Promise<Correction> {
  const correction = await requestCorrection(client, register, number, { by: actor.name, reason });
  await recordAct(client, actor, {
    ...{ act: 'editions revert', subject: editionSubject(register, number), reason },
    before: null,
    after: { correction: correction.id, state: correction.state },
  });
  return correction;
}

/** @throws DecisionError as `publishAgain` */
export async function republish(
  client: PoolClient,
  actor: Actor,
  { register, number }: { register: RegisterName; number: number },
): Promise<Edition> {
  const edition = await publishAgain(client, register, number);
  await recordAct(client, actor, {
    ...{ act: 'editions republish', subject: editionSubject(register, number), reason: null },
    before: { publicada_at: edition.publicada_at },
    after: null,
  });
  return edition;
}

/** Returns false when the register is paused already; then nothing is recorded. */
export async function pause(
  client: PoolClient,
  actor: Actor,
  register: RegisterName,
  reason: string | null,
): Promise<boolean> {
  if (!(await pauseRegister(client, register, { by: actor.name, reason }))) return false;
  const after = await pauseFacts(client, register);
  const subject = registerSubject(register);
  await recordAct(client, actor, { act: 'publications pause', subject, reason, before: { paused_at: null }, after });
  return true;
}

/** Returns false when the register is not paused; then nothing is recorded. */
export async function resume(client: PoolClient, actor: Actor, register: RegisterName): Promise<boolean> {
  const before = await pauseFacts(client, register);
  if (!(await resumeRegister(client, register))) return false;
  const act = { act: 'publications resume', subject: registerSubject(register), reason: null };
  await recordAct(client, actor, { ...act, before, after: { paused_at: null } });
  return true;
}

async function pauseFacts(client: PoolClient, register: RegisterName) {
  const { paused_at, paused_by, paused_reason } = await readHead(client, register, true);
  return { paused_at, paused_by, paused_reason };
}

// Orders to the workflows, which change nothing by themselves.

/** What is ordered: a register whose site is asked, or `verify` for the comparison of all registers. */
export type Order = RegisterName | 'verify';

/**
 * Gives an order and records it. `give` runs before the commit, so an order that did not arrive is not recorded. If the
 * process dies between the two, the order is carried out without a record, which is harmless: it changes nothing.
 */
export function orderBy(
  pool: Pool,
  actor: Actor,
  order: Order,
  give: (order: Order) => Promise<OrderedRun>,
): Promise<OrderedRun> {
  return inTransaction(pool, async (client) => {
    const outcome = await give(order);
    if (outcome === 'paused') return outcome;
    const isCheck = order === 'verify';
    await recordAct(client, actor, {
      ...{ act: isCheck ? 'verify' : 'publications run', subject: isCheck ? allRegisters : registerSubject(order) },
      ...{ reason: null, before: null, after: { outcome } },
    });
    return outcome;
  });
}

// The subjects under which the acts are found.

export const allRegisters = 'all registers';

export function publicationSubject(id: number): string {
  return `publication ${id}`;
}

export function editionSubject(register: RegisterName, number: number): string {
  return `edition ${register} ${number}`;
}

export function registerSubject(register: RegisterName): string {
  return `register ${register}`;
}
