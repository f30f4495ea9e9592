import { isCompany } from '../../../schemas/ruc.ts';
import type { TrueChange } from './register/population.ts';

/** A company that the demo's customer watches, and the event that he must be notified of. */
export interface Watched {
  ruc: string;
  /** The event that must be delivered. Null when the company does not change: then any delivery is a fault. */
  expected: { evento: string; campo: string } | null;
}

const eventOfColumn = [
  { column: 'estado', evento: 'ruc.estado_cambiado' },
  { column: 'condicion', evento: 'ruc.condicion_cambiada' },
  { column: 'nombre', evento: 'ruc.nombre_cambiado' },
] as const;

/** The changes of day 2 from which the watched companies are chosen. */
interface Choice {
  /** Changes of the daily register. */
  daily: readonly TrueChange[];
  /** A company that enters the list of retention agents, and changes in nothing else. */
  agent: string | undefined;
  /** A company that leaves the list of good taxpayers, and changes in nothing else. */
  formerGoodTaxpayer: string | undefined;
  unchanged: string;
}

/** One company for each kind of change, and one that does not change; null when a kind has no company. */
export function chooseWatched({ daily, agent, formerGoodTaxpayer, unchanged }: Choice): Watched[] | null {
  const companies = daily.filter(({ ruc }) => isCompany(ruc));
  const found = [
    ...eventOfColumn.map(({ column, evento }) => ({
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

/**
 * Lists what is wrong with the deliveries: events that are missing, not expected or delivered under two ids; signatures
 * that are not valid; look-ups that still showed the old state when the delivery arrived.
 */
export function faultsOf(watched: readonly Watched[], received: readonly Received[]): string[] {
  const wanted = watched.filter(({ expected }) => expected !== null);
  const missing = wanted.filter(({ ruc, expected }) => !received.some((delivery) => isThat(delivery, ruc, expected)));
  const unwanted = received.filter((notice) => !wanted.some(({ ruc, expected }) => isThat(notice, ruc, expected)));
  const deliveries = new Map<string, string>();
  for (const { evento, ruc, deliveryId } of received)
    deliveries.set(`${evento} ${ruc} ${deliveryId}`, `${evento} ${ruc}`);
  const events = [...deliveries.values()];
  const repeated = events.filter((event, index) => events.indexOf(event) !== index);
  return [
    ...missing.map(({ ruc, expected }) => `missing: ${expected?.evento} of ${ruc}`),
    ...unwanted.map(({ evento, ruc }) => `not expected: ${evento} of ${ruc}`),
    ...repeated.map((event) => `came under two delivery ids: ${event}`),
    ...received
      .filter(({ verified }) => !verified)
      .map(({ evento, ruc }) => `signature not valid: ${evento} of ${ruc}`),
    ...received
      .filter(({ sawNewState }) => !sawNewState)
      .map(({ evento, ruc }) => `the look-up made on arrival still showed the old state: ${evento} of ${ruc}`),
  ];
}

function isThat(delivery: Received, ruc: string, expected: Watched['expected']): boolean {
  return delivery.ruc === ruc && delivery.evento === expected?.evento && delivery.campo === expected.campo;
}
