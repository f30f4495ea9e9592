import type { ClickHouseClient } from '../../../pipelines/runtime/clickhouse.ts';
import { inTransaction, type Pool } from '../../../pipelines/runtime/postgres.ts';
import { writeEvents } from '../../../pipelines/watch/events.ts';
import { eventId } from '../../../pipelines/watch/match.ts';
import { limaDay } from '../../../schemas/lima-time.ts';
import { type RegisterName, registerNames, registers } from '../../../schemas/registers.ts';
import { historyOf, makeTestArchive, type TestArchive } from '../registers/archived-editions.ts';
import { changeOf, materialize, rucOf } from '../registers/companies.ts';
import { insertEdition, insertTaxpayers, untilCatalogueIsRead } from '../registers/served-register.ts';
import { type AccountOfCaller, makeCaller, type TestCaller } from './process.ts';
import { type Surroundings, startSurroundings } from './surroundings.ts';
import { monthlyCells } from './taxpayer-records.ts';

// The running API with all registers loaded, for suites over every route.

export const company = '20990000019';
const other = '20990000043';
export const barred = '20990000060';
export const person = '10990000013';
/** Valid, but in no register here. */
export const unknownCompany = rucOf(999_999);
/** A literal public address needs no name server. Nothing is sent to it. */
export const publicUrl = 'https://93.184.216.34/avisos';

const administrative = {
  nombre: 'CONSTRUCTORA EJEMPLO E.I.R.L.',
  desde: '2026-01-10',
  hasta: null,
  resolucion: '0001-2026-TCE-S1',
  motivos: ['214'],
  motivo: 'TEXTO DE PRUEBA',
};
const ended = { ...administrative, desde: '2019-03-01', hasta: '2020-03-01', resolucion: '0007-2019-TCE-S2' };
const judicial = {
  nombre: 'ACME PERÚ S.A.A.',
  desde: '2018-01-01',
  hasta: '2019-01-01',
  resolucion: 'S/N',
  organo: 'JUZGADO',
};

/** Starts it with a caller of plan crecimiento, or of the given account. */
export async function startLoadedApi(
  account: AccountOfCaller = {},
): Promise<{ around: Surroundings; caller: TestCaller }> {
  const archive = makeTestArchive();
  const around = await startSurroundings(archive.environment);
  await loadRows(around.clickhouse);
  await loadEditions(around.pool, archive);
  const caller = await makeCaller(around.pool, around.api.url, account);
  await untilCatalogueIsRead();
  const stop = () => around.stop().finally(archive.remove);
  return { around: { ...around, stop }, caller };
}

/** The rows of all registers, as one ClickHouse server has them. */
export async function loadRows(clickhouse: ClickHouseClient): Promise<void> {
  const companies = [
    { ruc: company, nombre: 'COMERCIAL PRUEBA UNO S.A.C.', ubigeo: '150122' },
    { ruc: other, nombre: 'ACME PERÚ S.A.A.', ubigeo: '150131' },
    { ruc: barred, nombre: 'CONSTRUCTORA EJEMPLO E.I.R.L.', ubigeo: '040101' },
  ];
  const suspended = { ...companies[0]!, estado: 'SUSPENSION TEMPORAL' };
  await materialize(clickhouse, [
    changeOf(1, null, suspended),
    ...companies.slice(1).map((each) => changeOf(1, null, each)),
    changeOf(2, suspended, companies[0]!),
  ]);
  await insertTaxpayers(clickhouse, [
    { line: `${person}|PERSONA PLANTADA|ACTIVO|HABIDO|-|-|-|-|-|-|-|-|-|-|-|` },
    { line: `${company}|COMERCIAL PRUEBA UNO S.A.C.|2023-10-01|R.S. 186-2023|`, register: 'agentes_retencion' },
    { line: `${other}|ACME PERÚ S.A.A.|2012-06-01|R.S. 023-2012|`, register: 'buenos_contribuyentes' },
    {
      line: `${company}|${monthlyCells({ tipo: 'SOCIEDAD ANONIMA CERRADA', nro_trabajadores: '12', tipo_facturacion: 'MANUAL' }).join('|')}|`,
      register: 'padron_mensual',
    },
    { line: `${barred}|ruc|${JSON.stringify([administrative])}|`, register: 'sancionados' },
    { line: `${other}|ruc|${JSON.stringify([judicial])}|`, register: 'inhabilitaciones_judiciales' },
    { line: `${barred}|ruc|${JSON.stringify([ended])}|`, register: 'inhabilitaciones_administrativas' },
  ]);
}

/** @param archive gets the editions' change files, for tests that read them */
export async function loadEditions(pool: Pool, archive: TestArchive | null = null): Promise<void> {
  const dates = { padron_reducido: ['2026-11-25', '2026-11-26'] } as Partial<Record<RegisterName, string[]>>;
  for (const register of registerNames) {
    const days = dates[register] ?? ['2026-11-20'];
    const cells = registers[register].columns.map(() => '-');
    const states = days.map((day) => new Map([company, person].map((ruc) => [ruc, [day, ...cells.slice(1)]])));
    for (const [at, changes] of historyOf(register, states).entries()) {
      const number = at + 1;
      const changeFile = archive === null ? {} : { changeFile: await archive.put(register, number, changes) };
      await insertEdition(pool, { register, number, fechaDato: days[at]!, ...changeFile });
    }
  }
}

/** Writes an event of a list, as the watch consumer does. */
export async function insertEvent({ pool }: Surroundings, { accountId }: TestCaller, list: number): Promise<void> {
  const at = new Date('2026-11-26T09:31:07Z');
  await inTransaction(pool, async (client) => {
    await client.query('SELECT ensure_event_day($1)', [limaDay(at)]);
    const id = eventId('padron_reducido', 2, company, 'estado', list);
    const field = {
      evento: 'ruc.estado_cambiado',
      campo: 'estado',
      antes: 'SUSPENSIÓN TEMPORAL',
      despues: 'ACTIVO',
    } as const;
    const about = {
      register: 'padron_reducido',
      edition: 2,
      ruc: company,
      fechaDato: '2026-11-26',
      ocurridoEn: at,
    } as const;
    const watchlist = { id: list, nombre: 'Proveedores', referencia: 'erp-7' };
    await writeEvents(client, limaDay(at), at, [{ ...about, id, accountId, field, list: watchlist }], null);
  });
}
