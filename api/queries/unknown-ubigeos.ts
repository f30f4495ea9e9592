import { Counter, type Registry } from 'prom-client';

/** Counts records shown with a code that the catalogue does not know. No label: what codes a register may write has no bound. */
export function makeUnknownUbigeoCounter(metrics: Registry): () => void {
  const unknown = new Counter({
    name: 'padron_unknown_ubigeo_total',
    help: 'Records shown whose ubigeo the catalogue does not know: kept as it is, without names.',
    registers: [metrics],
  });
  return () => unknown.inc();
}
