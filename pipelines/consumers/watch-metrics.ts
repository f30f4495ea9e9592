import { Counter, type Registry } from 'prom-client';
import type { WatchMetrics } from './announce.ts';

export function makeWatchMetrics(registry: Registry): WatchMetrics {
  const counter = (name: string, help: string) => new Counter({ name, help, registers: [registry] });
  return {
    events: counter('padron_watch_events_total', 'Events written'),
    deliveries: counter('padron_watch_deliveries_total', 'Deliveries written'),
    cancelled: counter('padron_watch_cancelled_total', 'Deliveries not sent because their edition was corrected'),
    heldTooLong: counter('padron_watch_held_too_long_total', 'Batches announced before their state was served'),
    wakesLost: counter('padron_watch_wakes_lost_total', 'Wake-ups that Temporal did not take'),
  };
}
