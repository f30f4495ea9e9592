import { isCompany } from '../../../schemas/ruc.ts';
import type { TrueChange } from './register/population.ts';

/** What the demo's customer watches, and which notice must come of it. */
export interface Watched {
  ruc: string;
  /** null: nothing changes, so nothing may come. */
  expected: { evento: string; campo: string } | null;
}

const noticeOfColumn = [
  { column: 'estado', evento: 'ruc.estado_cambiado' },
  { column: 'condicion', evento: 'ruc.condicion_cambiada' },
  { column: 'nombre', evento: 'ruc.nombre_cambiado' },
] as const;

/** Those of whom the daily register alone tells something, or nothing is told. */
export function watchedInDailyRegister(watched: readonly Watched[]): Watched[] {
  return watched.filter(({ expected }) => expected === null || !expected.campo.startsWith('es_'));
}

/** What day 2 brings, from which the watched companies are chosen. */
export interface Choice {
  /** Changes of the daily register. */
  daily: readonly TrueChange[];
  /** Enters the agents' list, and nothing else of it changes. */
  agent: string | undefined;
  /** Leaves the good taxpayers' list, and nothing else of it changes. */
  formerGoodTaxpayer: string | undefined;
  unchanged: string;
}

/** One company for each kind of change, and one that stays as it is; null when a kind has no company. */
export function chooseWatched({ daily, agent, formerGoodTaxpayer, unchanged }: Choice): Watched[] | null {
  const companies = daily.filter(({ ruc }) => isCompany(ruc));
  const found = [
    ...noticeOfColumn.map(({ column, evento }) => ({
      ruc: companies.find(({ op, columns }) => op === 'u' && columns.join() === column)?.ruc,
      expected: { evento, campo: column },
    })),
    { ruc: companies.find(({ op }) => op === 'c')?.ruc, expected: { evento: 'ruc.alta', campo: 'ruc' } },
    { ruc: companies.find(({ op }) => op === 'd')?.ruc, expected: { evento: 'ruc.baja', campo: 'ruc' } },
    { ruc: agent, expected: { evento: 'ruc.agente_retencion_cambiado', campo: 'es_agente_retencion' } },
    {
      ruc: formerGoodTaxpayer,
      expected: { evento: 'ruc.buen_contribuyente_cambiado', campo: 'es_buen_contribuyente' },
    },
    { ruc: unchanged, expected: null },
  ];
  return found.every((one): one is Watched => one.ruc !== undefined) ? found : null;
}

export interface Received {
  evento: string;
  ruc: string;
  campo: string;
  deliveryId: string;
  verified: boolean;
  sawNewState: boolean;
}

/** What is wrong with the notices that came; empty when each expected one came, verified, and none besides. */
export function faultsOf(watched: readonly Watched[], received: readonly Received[]): string[] {
  const wanted = watched.filter(({ expected }) => expected !== null);
  const missing = wanted.filter(({ ruc, expected }) => !received.some((notice) => isThat(notice, ruc, expected)));
  const unwanted = received.filter((notice) => !wanted.some(({ ruc, expected }) => isThat(notice, ruc, expected)));
  const deliveries = new Map<string, string>();
  for (const { evento, ruc, deliveryId } of received)
    deliveries.set(`${evento} ${ruc} ${deliveryId}`, `${evento} ${ruc}`);
  const notices = [...deliveries.values()];
  const repeated = notices.filter((notice, index) => notices.indexOf(notice) !== index);
  return [
    ...missing.map(({ ruc, expected }) => `missing: ${expected?.evento} of ${ruc}`),
    ...unwanted.map(({ evento, ruc }) => `not expected: ${evento} of ${ruc}`),
    ...repeated.map((notice) => `came under two delivery ids: ${notice}`),
    ...received
      .filter(({ verified }) => !verified)
      .map(({ evento, ruc }) => `signature not valid: ${evento} of ${ruc}`),
    ...received
      .filter(({ sawNewState }) => !sawNewState)
      .map(({ evento, ruc }) => `the look-up made on arrival still showed the old state: ${evento} of ${ruc}`),
  ];
}

function isThat(notice: Received, ruc: string, expected: Watched['expected']): boolean {
  return notice.ruc === ruc && notice.evento === expected?.evento && notice.campo === expected.campo;
}
