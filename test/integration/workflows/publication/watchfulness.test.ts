import { Registry } from 'prom-client';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { createAccount } from '../../../../api/accounts/accounts.ts';
import { sitePaths } from '../../../../deploy/local/demo/register/day.ts';
import { findEdition } from '../../../../pipelines/editions/editions.ts';
import { readFreshness } from '../../../../pipelines/editions/freshness.ts';
import { pauseRegister, readHead, resumeRegister } from '../../../../pipelines/editions/heads.ts';
import { findPublication } from '../../../../pipelines/editions/publications.ts';
import type { VerifyReport } from '../../../../pipelines/replay/types.ts';
import { makePublicationMetrics } from '../../../../workflows/publication/metrics.ts';
import { reconcileRegister } from '../../../../workflows/publication/publish.ts';
import { makeLateWatch } from '../../../../workflows/publication/sweeper.ts';
import { keepLines } from '../../../support/process/log-lines.ts';
import { makeStepHarness, type StepHarness, stepRun } from '../../../support/publication/step-harness.ts';
import { type ListRows, listRegister, listRows, listRuc, listZip, showList } from '../../../support/watch/list-days.ts';

// The product notices by itself: too many events, a source that publishes nothing, a state that differs from the
// archive.
const register = listRegister;
const hourMs = 3_600_000;
const watched = 1_000;
let harness: StepHarness;
let days = 0;
let rows: ListRows = listRows(2_000);

const { log, lines } = keepLines();

beforeAll(async () => {
  harness = await makeStepHarness(inject('endpoints'));
});
afterAll(() => harness?.close());

/** A file dated `days` days before now, so that the last one is fresh. */
async function show(change: (rows: ListRows) => void = () => {}): Promise<void> {
  days += 1;
  rows = new Map(rows);
  change(rows);
  showList(harness.site, await listZip(rows), new Date(Date.now() - (20 - days) * 24 * hourMs));
}

async function publish(change?: (rows: ListRows) => void) {
  await show(change);
  return (await harness.run(register))!;
}

describe('notices that an edition would make', () => {
  beforeAll(async () => {
    const account = await createAccount(harness.pool, {
      name: 'Banco Inventado',
      plan: 'empresa',
      email: null,
      contract: null,
    });
    await harness.pool.query(
      `WITH lists AS (INSERT INTO watch_list (account_id, nombre) VALUES ($1, 'una'), ($1, 'otra') RETURNING id)
       INSERT INTO watch_member (list_id, ruc) SELECT lists.id, ruc FROM lists, unnest($2::text[]) AS ruc`,
      [account, Array.from({ length: watched }, (_, number) => listRuc(number))],
    );
    await harness.pool.query(`INSERT INTO watch_list (account_id, nombre, deleted_at) VALUES ($1, 'ida', now())`, [
      account,
    ]);
    await publish();
  });

  it('are counted on the lists of now, one per list, for watched companies only, and kept with the edition', async () => {
    const day = await publish((list) => {
      for (const number of [1, 2, 3]) list.delete(number);
      // The companies stay on the list, but nobody watches them.
      list.set(4, 'OTRO NOMBRE').delete(1_500);
    });
    expect(day).toMatchObject({ state: 'publicada' });
    const { counts } = (await findEdition(harness.pool, register, day.edition!))!;
    expect(counts).toMatchObject({ deleted: 4, updated: 1, notices: 6, listMembers: 2 * watched });
    expect(day.gates.find(({ gate }) => gate === 'notices')).toMatchObject({
      value: 6,
      passed: true,
      limit: 'unknown',
    });
  });

  it('about more than a fifth of the members stop the publication, though no share of rows does', async () => {
    const flood = await publish((list) => {
      for (let number = 100; number < 360; number += 1) list.delete(number);
    });
    expect(flood).toMatchObject({ state: 'en_cuarentena' });
    expect(flood.state_reason).toBe('gates: it would make 520 notices over 2000 members of watch lists (limit 400)');
    // The next file is judged alone: a publication that waits for an operator holds nothing back.
    const calm = await publish((list) => {
      for (let number = 100; number < 360; number += 1) list.set(number, `EMPRESA DE PRUEBA ${number}`);
      list.delete(5);
    });
    expect(calm).toMatchObject({ state: 'publicada' });
  });
});

// The file has moved, and its address answers 404 every day.
describe('a source that has gone quiet', () => {
  it('keeps its edition, is late after a day, and the log says it once and once when it is back', async () => {
    const logLateRegisters = makeLateWatch({ pool: harness.pool, log });
    const said = () => lines.splice(0).filter((line) => line.register === register);
    const before = await readHead(harness.pool, register);
    await logLateRegisters();
    expect(said()).toEqual([]);
    harness.site.misbehave({ mode: 'status', status: 404 }, sitePaths[register].file);
    await expect(harness.fetch(register)).rejects.toMatchObject({ retryable: true });
    for (const hours of [20, 25, 26, 49]) await logLateRegisters(new Date(Date.now() + hours * hourMs));
    expect(said()).toEqual([
      expect.objectContaining({ level: 40, reasons: ['its official site last answered 25 h ago (at most 24)'] }),
    ]);
    expect(await readHead(harness.pool, register)).toEqual(before);
    harness.site.misbehave({ mode: 'ok' });
    await publish();
    await logLateRegisters();
    expect(said()).toEqual([expect.objectContaining({ level: 30, msg: 'the register is no longer late' })]);
  });
});

describe('what stands still on its way', () => {
  const hoursLater = async (hours: number) => {
    const all = await readFreshness(harness.pool, new Date(Date.now() + hours * hourMs));
    return all.find((each) => each.register === register)!;
  };
  const standsStill = 'what is on its way began 7 h ago (at most 6)';

  it('makes its register late: a publication, unless it is paused, and an edition', async () => {
    await harness.pool.query('UPDATE register_head SET probed_at = now() WHERE register = $1', [register]);
    expect(await hoursLater(7)).toMatchObject({ open_since: null, late: [] });
    await show((list) => list.set(7, 'OTRO NOMBRE'));
    const { id } = (await harness.fetch(register))!;
    expect((await hoursLater(5)).late).toEqual([]);
    expect((await hoursLater(7)).late).toEqual([standsStill]);
    await pauseRegister(harness.pool, register, { by: 'Ana Ruiz', reason: null });
    expect((await hoursLater(7)).late).toEqual([]);
    await resumeRegister(harness.pool, register);
    await harness.settle(register);
    expect(await findPublication(harness.pool, id)).toMatchObject({ state: 'publicada' });
    expect((await hoursLater(7)).late).toEqual([]);
    const moved = `UPDATE edition SET avisada_at = $2 WHERE register = $1 AND number = (SELECT edition FROM register_head WHERE register = $1)`;
    await harness.pool.query(moved, [register, null]);
    expect((await hoursLater(7)).late).toEqual([standsStill]);
    await harness.pool.query(moved, [register, new Date()]);
  });
});

describe('the daily check', () => {
  const part = { rows: 1_993, missing: 0, extra: 0, differs: 0 };

  function found(differs: number, edition: number): VerifyReport {
    return {
      ...{ register, edition, rows: 1_993, equal: differs === 0, differences: differs, state: { ...part, differs } },
      ...{ names: null, history: part, publication: part, publicationNote: null, laterRows: 0 },
      listed: differs === 0 ? [] : [{ where: 'state', kind: 'differs', id: '10*******19', edition: null }],
    };
  }
  const check = (report: VerifyReport | null) =>
    reconcileRegister({ ...stepRun, pool: harness.pool, log, verify: async () => report }, register);
  const latest = async () => (await readFreshness(harness.pool)).find((each) => each.register === register)!;

  it('keeps its result; a difference is an alert in log and metrics, and nothing is repaired', async () => {
    const { edition } = await readHead(harness.pool, register);
    expect(await check(found(0, edition))).toEqual({ outcome: 'equal' });
    expect((await latest()).last_reconciliation).toMatchObject({ edition, equal: true, differences: 0 });
    lines.length = 0;
    expect(await check(found(1, edition))).toEqual({ outcome: 'different' });
    expect(lines).toEqual([expect.objectContaining({ level: 50, register, edition, differences: 1 })]);
    const registry = new Registry();
    makePublicationMetrics(registry, harness.pool);
    const metrics = await registry.metrics();
    expect(metrics).toContain(`padron_reconcile_differences{register="${register}"} 1`);
    expect(metrics).toContain(`padron_register_late{register="${register}"} 0`);
    expect(metrics).toContain('padron_register_late{register="padron_reducido"} 1');
    expect(metrics).toMatch(/padron_register_age_seconds\{register="agentes_retencion"\} \d+/);
  });

  it('is skipped while there is nothing, an edition is on its way, or one began meanwhile', async () => {
    const { edition } = await readHead(harness.pool, register);
    expect(await check(null)).toEqual({ outcome: 'skipped' });
    expect(await check(found(5, edition - 1))).toEqual({ outcome: 'skipped' });
    await harness.pool.query('UPDATE edition SET avisada_at = NULL WHERE register = $1 AND number = $2', [
      register,
      edition,
    ]);
    expect(await check(found(5, edition))).toEqual({ outcome: 'skipped' });
    expect((await latest()).last_reconciliation).toMatchObject({ differences: 1 });
  });
});
