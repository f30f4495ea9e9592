import type { RegisterName } from '../../schemas/registers.ts';
import { inTransaction, type Pool, type PoolClient, type Queryable } from '../runtime/postgres.ts';
import { maxLists } from '../watch/lists.ts';
import { DecisionError } from './decisions.ts';
import type { ArchivedEdition } from './edition-archive.ts';
import { findEdition } from './editions.ts';
import { moveHead, readHead } from './heads.ts';

/** The command that mends a catalogue that was restored from an old backup. `state_reason` and /readyz name it. */
export const adoptCommand = 'npx padron editions adopt';

/** How `state_reason` begins while a publication waits for `adoptCommand`. */
export const streamAheadReason = 'stream_ahead';

/** Stores, for operators, why the register's waiting publications and orders to undo an edition make no editions. */
export async function noteHeld(database: Queryable, register: RegisterName, reason: string): Promise<void> {
  await database.query(
    `UPDATE publication SET state_reason = $2 WHERE register = $1 AND state_reason IS DISTINCT FROM $2
       AND state IN ('descargada', 'verificada', 'comparada')`,
    [register, reason],
  );
  await database.query(
    `UPDATE correction SET state_reason = $2 WHERE register = $1 AND state_reason IS DISTINCT FROM $2
       AND state IN ('pedida', 'comparada')`,
    [register, reason],
  );
}

async function releaseHeld(client: PoolClient, register: RegisterName): Promise<void> {
  for (const table of ['publication', 'correction']) {
    await client.query(
      `UPDATE ${table} SET state_reason = NULL WHERE register = $1 AND starts_with(state_reason, $2)`,
      [register, streamAheadReason],
    );
  }
}

/**
 * Gives a restored catalogue an edition that Kafka or ClickHouse has and the catalogue lost: its publication or the
 * operator's order, the edition and the head, in one transaction. The edition stands as `freezeEdition` had left it.
 * The workflow `publish` finishes the edition. If the editions topic has the edition's record, it takes the end offsets
 * from this record and does not produce the edition again. Then it waits until ClickHouse has the rows and the events
 * are written. If the process dies before the commit, nothing has changed. After the commit, a repeat finds the edition
 * and changes nothing.
 * @throws DecisionError `state_forbids` if the edition does not follow the catalogue's head
 */
export function adoptEdition(pool: Pool, register: RegisterName, archived: ArchivedEdition): Promise<void> {
  return inTransaction(pool, async (client) => {
    const { number, change_file_sha256, fecha_dato, published_at } = archived.edition;
    const head = await readHead(client, register, true);
    if ((await findEdition(client, register, number))?.change_file_sha256 === change_file_sha256) return;
    if (head.edition + 1 !== number) {
      const why = `edition ${number} of ${register} does not follow the catalogue's head, which is ${head.edition}`;
      throw new DecisionError('state_forbids', why);
    }
    const publicationId = archived.publication === null ? null : await putPublication(client, archived.publication);
    await client.query(
      `INSERT INTO edition (register, number, publication_id, corrects, fecha_dato, published_at, detected_at,
         change_file_sha256, overlay_sha256, parser_version, columns, changes, counts)
       SELECT register, number, $2::bigint, corrects, fecha_dato, published_at, detected_at,
         change_file_sha256, overlay_sha256, parser_version, columns, changes, counts
       FROM jsonb_populate_record(NULL::edition, $1)`,
      [JSON.stringify(archived.edition), publicationId],
    );
    if (archived.correction !== null) await putCorrection(client, archived.correction);
    const { sha256 = null, validators = null } = archived.publication ?? {};
    const next = { register, edition: number, fecha_dato, published_at, sha256: sha256 as string | null, validators };
    await moveHead(client, next);
    await skipPositions(client, archived.edition);
    await releaseHeld(client, register);
  });
}

/**
 * Most events of one list about one change. A company that appears again has one event for its return and one for each
 * of the three watched columns.
 */
const mostEventsPerChange = 4;

/**
 * Skips the positions that the lost events of this edition may have had. A customer may hold such a position as a
 * cursor. If a later event got that position or a lower one, his next read would begin after the event and miss it.
 * Nobody knows how many events an account had, because the lists of that time are lost too. But an edition changes a
 * company once, and an account has at most `maxLists` lists with it. Positions are in no short supply: a million
 * changes take 4 × 10⁹ of 9 × 10¹⁵. The accounts are locked in the order in which `watch` locks them, so that the two
 * cannot deadlock.
 */
async function skipPositions(client: PoolClient, { register, number, corrects }: ArchivedEdition['edition']) {
  await client.query('INSERT INTO account_position (account_id) SELECT id FROM account ON CONFLICT DO NOTHING');
  await client.query('SELECT 1 FROM account_position ORDER BY account_id FOR UPDATE');
  // A correction ($3 is the edition that it undoes) makes at most as many events as that edition, so the larger of the
  // two numbers is taken. A row that an edition only repeated (`baseline`) makes no event.
  await client.query(
    `UPDATE account_position SET last_position = last_position + $4 * COALESCE((
       SELECT max(changes - COALESCE((counts->>'baseline')::bigint, 0)) FROM edition
       WHERE register = $1 AND number IN ($2, $3)), 0)`,
    [register, number, corrects, mostEventsPerChange * maxLists],
  );
}

/** Finds the publication by its bytes and time, since the restored catalogue may know it, or inserts it. */
async function putPublication(client: PoolClient, publication: Record<string, unknown>): Promise<number> {
  const { rows } = await client.query<{ id: number }>(
    `INSERT INTO publication (register, sha256, fecha_dato, published_at, validators, url, bytes, rows, rejected,
       duplicates, gates, state, decided_by, compare_result, detected_at, downloaded_at)
     SELECT register, sha256, fecha_dato, published_at, validators, url, bytes, rows, rejected,
       duplicates, gates, 'publicando', decided_by, compare_result, detected_at, downloaded_at
     FROM jsonb_populate_record(NULL::publication, $1)
     ON CONFLICT (register, sha256, published_at) WHERE sha256 IS NOT NULL DO UPDATE
     SET state = 'publicando', state_at = now(), state_reason = NULL, fecha_dato = EXCLUDED.fecha_dato,
       rows = EXCLUDED.rows, rejected = EXCLUDED.rejected, duplicates = EXCLUDED.duplicates, gates = EXCLUDED.gates,
       decided_by = EXCLUDED.decided_by, compare_result = EXCLUDED.compare_result
     RETURNING id`,
    [JSON.stringify(publication)],
  );
  return rows[0]!.id;
}

/** Updates the stored order to undo the edition `corrects`, or inserts the order if the restored catalogue lost it. */
async function putCorrection(client: PoolClient, correction: Record<string, unknown>): Promise<void> {
  const document = JSON.stringify(correction);
  const { rowCount } = await client.query(
    `UPDATE correction SET state = 'publicando', state_at = now(), state_reason = NULL, edition = given.edition,
       compare_result = given.compare_result
     FROM jsonb_populate_record(NULL::correction, $1) AS given
     WHERE correction.register = given.register AND correction.corrects = given.corrects
       AND correction.state <> 'rechazada'`,
    [document],
  );
  if (rowCount !== 0) return;
  await client.query(
    `INSERT INTO correction (register, corrects, requested_by, reason, requested_at, state, compare_result, edition)
     SELECT register, corrects, requested_by, reason, requested_at, 'publicando', compare_result, edition
     FROM jsonb_populate_record(NULL::correction, $1)`,
    [document],
  );
}
