import { inTransaction, type Pool } from '../../pipelines/runtime/postgres.ts';
import {
  type Account,
  type CreditOutcome,
  changeEmail,
  changePlan,
  creditUnits,
  readAccount,
} from '../accounts/accounts.ts';
import { addContract, type Contract, type ContractDays, endContract } from '../accounts/contracts.ts';
import { createToken, revokeToken } from '../accounts/tokens.ts';
import { type Actor, recordAct } from './audit.ts';

// What operators change about customers. The console and the command `padron` both do it by these functions, which
// record each act in the transaction that carries it out.

/** Gives the account another plan. Returns false when it does not exist. */
export function setPlan(pool: Pool, actor: Actor, id: number, plan: string, reason: string | null): Promise<boolean> {
  return inTransaction(pool, async (client) => {
    const before = await readAccount(client, id);
    if (before === null || !(await changePlan(client, id, plan))) return false;
    const act = { act: 'accounts plan', subject: accountSubject(id), reason };
    await recordAct(client, actor, { ...act, before: { plan: before.plan }, after: { plan } });
    return true;
  });
}

/** Sets the mail address of owner notices; null for none. Returns false when the account does not exist. */
export function setEmail(
  pool: Pool,
  actor: Actor,
  id: number,
  email: string | null,
  reason: string | null,
): Promise<boolean> {
  return inTransaction(pool, async (client) => {
    const before = await readAccount(client, id);
    if (before === null || !(await changeEmail(client, id, email))) return false;
    const act = { act: 'accounts email', subject: accountSubject(id), reason };
    await recordAct(client, actor, { ...act, before: { email: before.email }, after: { email } });
    return true;
  });
}

/** Adds prepaid units, once for each reference. */
export function credit(
  pool: Pool,
  actor: Actor,
  id: number,
  { units, reference }: { units: number; reference: string },
): Promise<CreditOutcome> {
  return inTransaction(pool, async (client) => {
    const outcome = await creditUnits(client, id, units, reference);
    const act = { act: 'accounts credit', subject: accountSubject(id), reason: reference };
    if (outcome === 'credited') await recordAct(client, actor, { ...act, before: null, after: { units, reference } });
    return outcome;
  });
}

/** Makes a token, whose text is stored nowhere. Returns null when the account does not exist. */
export function issueToken(
  pool: Pool,
  actor: Actor,
  accountId: number,
  reason: string | null,
  name: string | null = null,
): Promise<{ id: string; token: string } | null> {
  return inTransaction(pool, async (client) => {
    const made = await createToken(client, accountId, name);
    if (made === null) return null;
    const act = { act: 'tokens create', subject: accountSubject(accountId), reason };
    await recordAct(client, actor, { ...act, before: null, after: { token: made.id, name } });
    return made;
  });
}

/** Revokes a token. Returns the time of its first revocation, or null when it does not exist. */
export function revokeTokenBy(pool: Pool, actor: Actor, tokenId: string, reason: string | null): Promise<Date | null> {
  return inTransaction(pool, async (client) => {
    const { rows } = await client.query<{ account: number; revoked_at: Date | null }>(
      'SELECT account_id AS account, revoked_at FROM token WHERE id = $1 FOR UPDATE',
      [tokenId],
    );
    const before = rows[0];
    const revokedAt = await revokeToken(client, tokenId);
    if (before === undefined || revokedAt === null) return null;
    const act = { act: 'tokens revoke', subject: accountSubject(before.account), reason };
    const facts = { before: { token: tokenId, revoked_at: null }, after: { token: tokenId, revoked_at: revokedAt } };
    if (before.revoked_at === null) await recordAct(client, actor, { ...act, ...facts });
    return revokedAt;
  });
}

/** Adds a data-processing contract and returns its id, or null when the account does not exist. */
export function openContract(
  pool: Pool,
  actor: Actor,
  accountId: number,
  contract: ContractDays,
): Promise<number | null> {
  return inTransaction(pool, async (client) => {
    const id = await addContract(client, accountId, contract);
    if (id === null) return null;
    const act = { act: 'contracts add', subject: accountSubject(accountId), reason: contract.reference };
    await recordAct(client, actor, { ...act, before: null, after: { contract: id, ...contract } });
    return id;
  });
}

/**
 * Ends a contract, at once or after a last day. Returns null when it does not exist.
 * @throws an error for which `isBeforeFirstDay` is true
 */
export function finishContract(
  pool: Pool,
  actor: Actor,
  id: number,
  lastDay: string | null,
  reason: string | null,
): Promise<Contract | null> {
  return inTransaction(pool, async (client) => {
    const ended = await endContract(client, id, lastDay);
    if (ended === null) return null;
    const { account, until, ended_at } = ended;
    await recordAct(client, actor, {
      ...{ act: 'contracts end', subject: accountSubject(account), reason },
      before: { contract: id },
      after: { contract: id, until, ended_at },
    });
    return ended;
  });
}

/** 23514 is the SQLSTATE of a broken CHECK. The table's only CHECK is that no contract ends before it begins. */
export function isBeforeFirstDay(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === '23514';
}

/** The subject under which acts about a customer are found. */
export function accountSubject(id: Account['id']): string {
  return `account ${id}`;
}
