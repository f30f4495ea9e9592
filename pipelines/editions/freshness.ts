import { type RegisterName, registerNames } from '../../schemas/registers.ts';
import type { Pool, PoolClient } from '../runtime/postgres.ts';
import { lateness, latenessByRegister } from './lateness.ts';
import type { PublicationState } from './publications.ts';

/** One register at a glance, named as in the database. */
export interface RegisterFreshness {
  register: RegisterName;
  /** 0: nothing yet. */
  edition: number;
  fecha_dato: string | null;
  published_at: Date | null;
  probed_at: Date | null;
  paused_at: Date | null;
  paused_by: string | null;
  paused_reason: string | null;
  /** Rows of the head's state. */
  rows: number | null;
  /** The oldest edition that is not published, materialised and notified. */
  on_its_way: number | null;
  /** Since when anything is that nobody holds back: a publication, a correction or an edition. */
  open_since: Date | null;
  /** Publications that wait for an operator. */
  quarantined: number;
  last_publication: { id: number; state: PublicationState; fecha_dato: string | null } | null;
  last_reconciliation: { edition: number; checked_at: string; equal: boolean; differences: number } | null;
  /** Why it is late; empty while it is not. */
  late: string[];
}

/** All registers in their order, also those that nothing is known of. */
export async function readFreshness(
  database: Pick<Pool | PoolClient, 'query'>,
  now: Date = new Date(),
): Promise<RegisterFreshness[]> {
  const { rows } = await database.query<Omit<RegisterFreshness, 'late'>>(
    `SELECT wanted.register, COALESCE(head.edition, 0) AS edition, head.fecha_dato, head.published_at, head.probed_at,
       head.paused_at, head.paused_by, head.paused_reason, (edition.counts->>'stateRows')::bigint AS rows,
       (SELECT min(number) FROM edition e WHERE e.register = wanted.register AND e.avisada_at IS NULL) AS on_its_way,
       LEAST(
         (SELECT min(detected_at) FROM edition e WHERE e.register = wanted.register AND e.avisada_at IS NULL),
         (SELECT min(requested_at) FROM correction c WHERE c.register = wanted.register AND c.state IN ('pedida', 'comparada')),
         (SELECT min(state_at) FROM publication p WHERE p.register = wanted.register
            AND p.state IN ('descargada', 'verificada', 'comparada') AND head.paused_at IS NULL)) AS open_since,
       (SELECT count(*) FROM publication p WHERE p.register = wanted.register AND p.state = 'en_cuarentena') AS quarantined,
       (SELECT jsonb_build_object('id', p.id, 'state', p.state, 'fecha_dato', p.fecha_dato) FROM publication p
        WHERE p.register = wanted.register ORDER BY p.id DESC LIMIT 1) AS last_publication,
       (SELECT jsonb_build_object('edition', r.edition, 'checked_at', r.checked_at, 'equal', r.equal, 'differences', r.differences)
        FROM reconciliation r WHERE r.register = wanted.register ORDER BY r.id DESC LIMIT 1) AS last_reconciliation
     FROM unnest($1::text[]) WITH ORDINALITY AS wanted (register, place)
     LEFT JOIN register_head head ON head.register = wanted.register
     LEFT JOIN edition ON edition.register = head.register AND edition.number = head.edition
     ORDER BY wanted.place`,
    [registerNames],
  );
  return rows.map((row) => ({ ...row, late: latenessOf(row, now) }));
}

function latenessOf(row: Omit<RegisterFreshness, 'late'>, now: Date): string[] {
  const { fecha_dato: fechaDato, published_at: publishedAt, probed_at: probedAt, open_since: openSince } = row;
  return lateness({ fechaDato, publishedAt, probedAt, openSince }, latenessByRegister[row.register], now);
}
