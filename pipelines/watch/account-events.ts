import type { Register } from '../../schemas/registers.ts';
import type { Change } from '../changes/record.ts';
import type { AccountEvent } from './events.ts';
import { eventId, eventsOf } from './match.ts';
import type { LastKnownRows, WatchedEdition, Watcher } from './watchers.ts';

/**
 * Returns the events of an edition's changes for the lists that watch the companies, in the order in which they are
 * sent. The consumer writes these events, and the preview counts them before the edition exists, so both follow one
 * rule.
 * @param watched changes whose RUC is in `watchers`
 */
export async function eventsOfWatched(
  lastKnownRows: LastKnownRows,
  register: Register,
  edition: Pick<WatchedEdition, 'number' | 'fechaDato'>,
  watched: readonly Change[],
  watchers: ReadonlyMap<string, readonly Watcher[]>,
): Promise<AccountEvent[]> {
  const returned = register.presence === 'taxpayer' ? watched.filter(({ op }) => op === 'c').map(({ ruc }) => ruc) : [];
  const lastKnown = await lastKnownRows(register, returned, edition.number);
  return watched.flatMap((change) =>
    accountEvents(register, edition.fechaDato, change, lastKnown.get(change.ruc) ?? null, watchers.get(change.ruc)!),
  );
}

function accountEvents(
  register: Register,
  fechaDato: string,
  change: Change,
  lastKnown: Change['before'],
  watchers: readonly Watcher[],
): AccountEvent[] {
  return eventsOf(register, change, lastKnown).flatMap((field) =>
    watchers.map(({ accountId, list }) => ({
      id: eventId(register.name, change.edition, change.ruc, field.campo, list.id),
      accountId,
      register: register.name,
      edition: change.edition,
      ruc: change.ruc,
      field,
      list,
      fechaDato,
      ocurridoEn: change.detectedAt,
    })),
  );
}
