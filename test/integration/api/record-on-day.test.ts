import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { makeCatalogue, makePastEditions } from '../../../api/catalogue.ts';
import { type FindHistory, type HistoryPlace, makeFindHistory } from '../../../api/queries/history.ts';
import { entriesOf } from '../../../api/queries/history-entries.ts';
import { makeTaxpayers } from '../../../api/queries/look-up.ts';
import { taxpayerRecordOf } from '../../../api/queries/record.ts';
import { type FindRecordOnDay, makeFindRecordOnDay } from '../../../api/queries/record-on-day.ts';
import { makeRegisterChanges } from '../../../api/queries/register-changes.ts';
import type { Change, Row } from '../../../pipelines/changes/record.ts';
import { insertRows } from '../../../pipelines/consumers/materialize.ts';
import { TaxpayerRows } from '../../../pipelines/consumers/taxpayer-rows.ts';
import { type ClickHouseClient, makeClickhouse } from '../../../pipelines/runtime/clickhouse.ts';
import { migrateClickhouse, migratePostgres } from '../../../pipelines/runtime/migrate.ts';
import { makePool, type Pool } from '../../../pipelines/runtime/postgres.ts';
import { type RegisterName, registerNames, registers } from '../../../schemas/registers.ts';
import { ubigeos } from '../../support/api/taxpayer-records.ts';
import { freshClickhouseDatabase, freshDatabase } from '../../support/engines/isolation.ts';
import { encodeChange } from '../../support/registers/change-records.ts';
import { chanceOf, dayOf, type ModelEdition, makeModel, rucOf } from '../../support/registers/model.ts';
import { insertEdition, insertPublication } from '../../support/registers/served-register.ts';

// Thirty editions of every register, with repeats, confirmed dates, corrections and re-baselines, written by the
// consumers' own writer. Every RUC on every day must equal a model that keeps every edition whole. The last edition of
// each register is still being written.

const seed = 20_261_128;
const rucs = [...Array(20).keys()].map((index) => rucOf(index % 5 === 4 ? '10' : '20', index));
const chance = chanceOf(seed);
const model = new Map(registerNames.map((name) => [name, makeModel(name, rucs, 30, chance)]));
const served = (name: RegisterName) => model.get(name)!.slice(0, -1);
const lastDay = 70;

let pool: Pool;
let clickhouse: ClickHouseClient;
let findOnDay: FindRecordOnDay;
let findHistory: FindHistory;
const cleanUp: (() => Promise<unknown>)[] = [];

beforeAll(async () => {
  const endpoints = inject('endpoints');
  const [database, store] = [await freshDatabase(endpoints), await freshClickhouseDatabase(endpoints)];
  await Promise.all([migratePostgres(database.DATABASE_URL), migrateClickhouse(store.CLICKHOUSE_URL)]);
  pool = makePool(database.DATABASE_URL, 'test', 4);
  clickhouse = makeClickhouse(store.CLICKHOUSE_URL, 'test', { requestTimeoutMs: 10_000, connections: 6 });
  cleanUp.push(
    () => pool.end(),
    () => clickhouse.close(),
    database.drop,
    store.drop,
  );
  for (const [name, editions] of model) {
    for (const edition of editions) await writeEdition(edition);
    await writeRows(name, editions);
  }
  const limits = { waitMs: 2, maxKeys: 300, inFlight: 2 };
  const catalogue = makeCatalogue(pool);
  const past = makePastEditions(pool, catalogue);
  const taxpayers = makeTaxpayers(clickhouse, limits);
  const changes = makeRegisterChanges(clickhouse, limits);
  findOnDay = makeFindRecordOnDay({ past, taxpayers, changes, ubigeos, countUnknownUbigeo: () => {} });
  findHistory = makeFindHistory({ catalogue, past, taxpayers, changes });
});
afterAll(async () => {
  for (const step of cleanUp) await step();
});

async function writeEdition(edition: ModelEdition): Promise<void> {
  const { register, number, fechaDato, publication, corrects, isFull } = edition;
  const isLast = number === model.get(register)!.length;
  const own = corrects === null ? {} : { corrects };
  const { sha256, repeats, confirmed } = publication;
  const materialisedAt = isLast ? null : `${fechaDato}T09:00:00Z`;
  await insertEdition(pool, { register, number, fechaDato, sha256, isFull, materialisedAt, ...own });
  if (corrects !== null) return;
  for (const day of repeats)
    await insertPublication(pool, {
      register,
      fechaDato: day,
      sha256,
      publishedAt: `${day}T08:00:00Z`,
      state: 'repetida',
    });
  if (confirmed !== null)
    await pool.query('UPDATE publication SET fecha_dato = $3 WHERE register = $1 AND sha256 = $2 AND state = $4', [
      register,
      sha256,
      confirmed,
      'publicada',
    ]);
}

async function writeRows(register: RegisterName, editions: readonly ModelEdition[]): Promise<void> {
  const rows = new TaxpayerRows();
  const changes = editions.flatMap((edition, at) => changesOf(edition, editions[at - 1]));
  rows.fill(
    register,
    changes.map((change, index) => ({ offset: String(index), value: encodeChange(change, 1, register) })),
  );
  await insertRows(clickhouse, 'history', 'register_change', rows.history);
  await insertRows(clickhouse, 'state', 'taxpayer', rows.state);
}

function changesOf(
  { register, number, state, corrects, isFull }: ModelEdition,
  previous: ModelEdition | undefined,
): Change[] {
  const { columns } = registers[register];
  const row = (cells: readonly string[] | undefined): Row | null =>
    cells === undefined ? null : Object.fromEntries(columns.map(({ name }, at) => [name, cells[at]!]));
  return rucs.flatMap((ruc, seq): Change[] => {
    const [before, after] = [row(previous?.state.get(ruc)), row(state.get(ruc))];
    const same = JSON.stringify(before) === JSON.stringify(after);
    const base = { edition: number, seq, ruc, line: null, detectedAt: new Date('2026-11-28'), corrects };
    if (same && (!isFull || after === null)) return [];
    if (same || previous === undefined) return after === null ? [] : [{ ...base, op: 'r', before: null, after }];
    const op = before === null ? ('c' as const) : after === null ? ('d' as const) : ('u' as const);
    return [{ ...base, op, before, after }];
  });
}

/** The edition as of a day, and its last date up to that day. */
function modelOn(name: RegisterName, day: string): { edition: ModelEdition; date: string } | null {
  const edition = served(name).findLast(({ fechaDato }) => fechaDato <= day);
  if (edition === undefined) return null;
  const { repeats, confirmed } = edition.publication;
  const dates = [edition.fechaDato, ...repeats, confirmed ?? ''].filter((date) => date <= day);
  return { edition, date: dates.sort().at(-1)! };
}

test('the model contains the cases that it is for', () => {
  const all = [...model.values()].flat();
  expect(all.filter(({ corrects }) => corrects !== null).length).toBeGreaterThan(20);
  expect(all.filter(({ isFull, number }) => isFull && number > 1).length).toBeGreaterThan(5);
  expect(model.get('padron_reducido')!.at(-1)!.fechaDato < dayOf(lastDay)).toBe(true);
});

test('every RUC on every day equals the model', async () => {
  let found = 0;
  for (let index = 0; index <= lastDay; index += 1) {
    const day = dayOf(index);
    const daily = modelOn('padron_reducido', day);
    if (daily === null) {
      const firstDay = served('padron_reducido')[0]!.fechaDato;
      const expected = { code: 'fecha_sin_datos', extensions: { meta: { primera_fecha: firstDay } } };
      await expect(findOnDay(rucs[0]!, day)).rejects.toMatchObject(expected);
      continue;
    }
    const answers = await Promise.all(rucs.map((ruc) => findOnDay(ruc, day)));
    for (const [at, ruc] of rucs.entries()) {
      const cells = daily.edition.state.get(ruc);
      const answer = answers[at]!;
      const where = `${ruc} on ${day}`;
      expect([where, answer.isFound, answer.daily.edition.fechaDato]).toEqual([where, cells !== undefined, daily.date]);
      if (!answer.isFound || cells === undefined) continue;
      found += 1;
      const [monthly, agents, good] = (['padron_mensual', 'agentes_retencion', 'buenos_contribuyentes'] as const).map(
        (name) => modelOn(name, day),
      );
      const expected = taxpayerRecordOf(
        ruc,
        {
          padron_reducido: cells,
          padron_mensual: monthly?.edition.state.get(ruc) ?? null,
          agentes_retencion: agents == null ? null : agents.edition.state.has(ruc),
          buenos_contribuyentes: good == null ? null : good.edition.state.has(ruc),
        },
        ubigeos,
      );
      expect({ where, ...answer.data }).toEqual({ where, ...expected });
      const dates = [daily, monthly, agents, good].flatMap((one) => (one == null ? [] : [one.date]));
      expect(answer.sources.meta.fuentes.map(({ fecha_dato }) => fecha_dato)).toEqual(dates);
    }
  }
  expect(found).toBeGreaterThan(500);
}, 60_000);

test('the history of every RUC, page by page, lists what the editions changed', async () => {
  for (const ruc of rucs) {
    const shown: unknown[] = [];
    let after: HistoryPlace | null = null;
    do {
      const page = await findHistory(ruc, { after, maxEntries: 13 });
      if (!page.isFound) break;
      shown.push(
        ...page.entries.map(({ correccion, ...entry }) => ({ ...entry, corrects: correccion?.edicion ?? null })),
      );
      expect(page.entries.length).toBeLessThanOrEqual(13);
      after = page.next;
    } while (after !== null);
    expect(shown).toEqual(historyOf(ruc));
  }
}, 60_000);

/** Includes editions that are still being written, since the look-up shows their rows too. */
function historyOf(ruc: string): unknown[] {
  const changes = [...model].flatMap(([register, editions]) => {
    let lastKnown: readonly string[] | null = null;
    return editions.slice(1).flatMap((edition, at) => {
      const [before, after] = [editions[at]!.state.get(ruc) ?? null, edition.state.get(ruc) ?? null];
      if (JSON.stringify(before) === JSON.stringify(after)) return [];
      const operation = before === null ? ('c' as const) : after === null ? ('d' as const) : ('u' as const);
      const change = { register, edition: edition.number, operation, before, after, lastKnown };
      lastKnown = operation === 'd' ? before : null;
      return [{ edition, change }];
    });
  });
  changes.sort(
    (one, other) =>
      other.edition.fechaDato.localeCompare(one.edition.fechaDato) ||
      registers[one.edition.register].code - registers[other.edition.register].code ||
      other.edition.number - one.edition.number,
  );
  return changes.flatMap(({ edition, change }) =>
    entriesOf(ruc, change).map((entry) => ({
      fecha_dato: edition.fechaDato,
      registro: edition.register,
      ...entry,
      corrects: edition.corrects,
    })),
  );
}
