import { limaDay } from '../../schemas/lima-time.ts';
import type { RegisterName } from '../../schemas/registers.ts';
import type { SourceDate } from '../registers/module.ts';
import { sameVersion, type Validators } from '../registers/site.ts';
import type { PoolClient, Queryable } from '../runtime/postgres.ts';

export const openStates = ['detectada', 'descargada', 'verificada', 'comparada', 'publicando'] as const;
export const finalStates = ['publicada', 'en_cuarentena', 'rechazada', 'repetida', 'sustituida'] as const;
export type PublicationState = (typeof openStates)[number] | (typeof finalStates)[number];

interface GateRecord {
  gate: string;
  value: number | string | null;
  limit: number | string | null;
  passed: boolean;
  text: string;
}

/** A row of the table `publication` and its edition's progress. Days are strings, and times are `Date` objects. */
export interface Publication {
  id: number;
  register: RegisterName;
  /** Null until the download. */
  sha256: string | null;
  fecha_dato: string | null;
  published_at: Date | null;
  validators: { etag?: string | null; last_modified?: string | null };
  /** Address of the download. Null in rows older than this column. */
  url: string | null;
  bytes: number | null;
  rows: number | null;
  rejected: number | null;
  duplicates: number | null;
  gates: GateRecord[];
  state: PublicationState;
  state_reason: string | null;
  decided_by: string | null;
  compare_result: Record<string, unknown> | null;
  detected_at: Date;
  downloaded_at: Date | null;
  /** When retention removed the publication's bytes from the archive. Null when they are there or never were. */
  removed_at: Date | null;
  state_at: Date;
  edition: number | null;
  publicada_at: Date | null;
  materializada_at: Date | null;
  avisada_at: Date | null;
}

/** Whether an operator has approved the publication. Its gates are then recorded but do not stop it. */
export function isApproved(publication: Pick<Publication, 'decided_by' | 'state'>): boolean {
  return publication.decided_by !== null && publication.state !== 'rechazada';
}

const selectPublication = `
  SELECT publication.*, edition.number AS edition, edition.publicada_at, edition.materializada_at, edition.avisada_at
  FROM publication LEFT JOIN edition ON edition.publication_id = publication.id`;

export async function findPublication(database: Queryable, id: number): Promise<Publication | null> {
  const { rows } = await database.query<Publication>(`${selectPublication} WHERE publication.id = $1`, [id]);
  return rows[0] ?? null;
}

export async function listPublications(
  database: Queryable,
  filter: { register: RegisterName | null; state: PublicationState | null; maxRows: number },
): Promise<Publication[]> {
  const { rows } = await database.query<Publication>(
    `${selectPublication}
     WHERE ($1::text IS NULL OR publication.register = $1) AND ($2::text IS NULL OR publication.state = $2)
     ORDER BY publication.id DESC LIMIT $3`,
    [filter.register, filter.state, filter.maxRows],
  );
  return rows;
}

/** The row of a version that a probe has seen. `isNew`: the version's bytes are still to be downloaded. */
interface Detected extends Pick<Publication, 'id' | 'sha256'> {
  isNew: boolean;
  waitsForDate: boolean;
}

/**
 * Finds the row of the version that a probe has just seen at `url`, or inserts a row in state `detectada`. A file at
 * another address is another version, even with equal validators (ETag, Last-Modified). So are the same bytes under a
 * later time (isLater). A detected version that the site replaced before we downloaded it becomes `sustituida`.
 */
export async function detectPublication(
  client: PoolClient,
  register: RegisterName,
  version: Validators,
  url: string,
): Promise<Detected> {
  // The lock lets one probe of a register run at a time. Two at once would both insert a row.
  await client.query('SELECT 1 FROM register_head WHERE register = $1 FOR UPDATE', [register]);
  const rows = await lastVersions(client, register, knownVersions);
  const isThere = (row: VersionRow) => row.url === null || row.url === url;
  const isVersion = (row: VersionRow) => isThere(row) && sameVersion(row, version) && !isLater(version, row);
  // The download of a waiting version is resumed when the site still has that version. It is also resumed when the
  // version has no validators and the site sends no ETag, because then nothing shows that the site's file has changed.
  const waiting = rows.find(
    (row) =>
      row.state === 'detectada' &&
      (isVersion(row) || (isThere(row) && row.etag === null && row.lastModified === null && version.etag === null)),
  );
  const known = waiting ?? rows.find(isVersion);
  await client.query(
    `UPDATE publication SET state = 'sustituida', state_at = now(),
       state_reason = 'the site replaced this version before it was downloaded'
     WHERE register = $1 AND state = 'detectada' AND id <> $2`,
    [register, known?.id ?? 0],
  );
  if (known !== undefined) {
    const { id, sha256, state, waitsForDate } = known;
    return { id, sha256, isNew: state === 'detectada', waitsForDate };
  }
  const inserted = await client.query<{ id: number }>(
    'INSERT INTO publication (register, validators, url) VALUES ($1, $2, $3) RETURNING id',
    [register, JSON.stringify({ etag: version.etag, last_modified: version.lastModified }), url],
  );
  return { id: inserted.rows[0]!.id, sha256: null, isNew: true, waitsForDate: false };
}

/** A probe recognises only this many newest versions. A site that shows an old one again goes back only a few days. */
const knownVersions = 60;

interface VersionRow extends Validators, Pick<Publication, 'id' | 'state' | 'sha256' | 'url' | 'published_at'> {
  waitsForDate: boolean;
}

/**
 * Whether the site shows a later Last-Modified than before, while the ETag says that we have the bytes. Then the same
 * bytes are published as the data of another day, or the site has corrected a wrong time. Unless the publication waits
 * for a date, only a later day counts, because the servers of a site may show slightly different times. A time in the
 * future counts as now. So a site that always shows another time causes at most one download a day.
 */
function isLater({ lastModified }: Validators, { published_at: known, ...row }: VersionRow): boolean {
  if (row.state === 'detectada' || lastModified === null || lastModified === row.lastModified) return false;
  const time = new Date(Math.min(Date.parse(lastModified), Date.now()));
  if (Number.isNaN(time.getTime())) return false;
  if (row.waitsForDate) return known === null || time > known;
  return known !== null && limaDay(time) > limaDay(known);
}

/**
 * SQL condition for a publication that is in quarantine only because of its time. It has no time (`date_unknown: …`),
 * or its time is before the head's (`date: …`). The site may still show a right time.
 */
export const waitsForDate = `(state = 'en_cuarentena' AND state_reason ~ '^date(_unknown)?: ')`;

async function lastVersions(database: Queryable, register: RegisterName, count: number): Promise<VersionRow[]> {
  const { rows } = await database.query<VersionRow>(
    `SELECT id, state, sha256, url, published_at, ${waitsForDate} AS "waitsForDate",
       validators->>'etag' AS etag, validators->>'last_modified' AS "lastModified"
     FROM publication WHERE register = $1 ORDER BY id DESC LIMIT $2`,
    [register, count],
  );
  return rows;
}

export interface KnownVersion extends Pick<VersionRow, 'id' | 'url' | 'sha256' | 'waitsForDate'> {
  /**
   * The version's ETag and Last-Modified. A probe sends them, and the site may answer that nothing changed. They are
   * null until the version is downloaded. Otherwise that answer would end every probe before the download.
   */
  validators: Validators | null;
}

/** The version that was detected last, or null when there is none. */
export async function lastKnownVersion(database: Queryable, register: RegisterName): Promise<KnownVersion | null> {
  const [row] = await lastVersions(database, register, 1);
  if (row === undefined) return null;
  const { state, etag, lastModified } = row;
  return { ...row, validators: state === 'detectada' ? null : { etag, lastModified } };
}

/**
 * Call this when the archive has a publication's bytes. It moves the publication from `detectada` to `descargada`, or
 * with a `problem` to `en_cuarentena`. If another row has the same bytes and the same time of publication, the row `id`
 * is deleted and the other row gets the new validators, so that one publication is one row. A row with the same bytes
 * that waits for a date becomes `sustituida`, because the bytes have a date now.
 */
export async function recordDownload(
  client: PoolClient,
  id: number,
  facts: { sha256: string; bytes: number; version: Validators; date: SourceDate | null },
  problem: string | null,
): Promise<{ id: number; known: boolean }> {
  const { rows } = await client.query<{ register: string; state: PublicationState }>(
    'SELECT register, state FROM publication WHERE id = $1 FOR UPDATE',
    [id],
  );
  if (rows[0] === undefined || rows[0].state !== 'detectada') return { id, known: true };
  const validators = JSON.stringify({ etag: facts.version.etag, last_modified: facts.version.lastModified });
  const twin = await client.query<{ id: number }>(
    `SELECT id FROM publication
     WHERE register = $1 AND sha256 = $2 AND published_at IS NOT DISTINCT FROM $3 AND id <> $4 FOR UPDATE`,
    [rows[0].register, facts.sha256, facts.date?.publishedAt ?? null, id],
  );
  const known = twin.rows[0]?.id;
  if (known !== undefined) {
    await client.query('DELETE FROM publication WHERE id = $1', [id]);
    await client.query('UPDATE publication SET validators = $2 WHERE id = $1', [known, validators]);
    return { id: known, known: true };
  }
  await client.query(
    `UPDATE publication SET sha256 = $2, bytes = $3, validators = $4, published_at = $5, fecha_dato = $6,
       downloaded_at = now(), state_at = now(), state = $7, state_reason = $8
     WHERE id = $1`,
    [
      id,
      facts.sha256,
      facts.bytes,
      validators,
      facts.date?.publishedAt ?? null,
      facts.date?.fechaDato ?? null,
      problem === null ? 'descargada' : 'en_cuarentena',
      problem,
    ],
  );
  if (problem === null) {
    const reason = `the site gave the same bytes another time: publication ${id}`;
    await client.query(
      `UPDATE publication SET state = 'sustituida', state_at = now(), state_reason = $4
       WHERE register = $1 AND sha256 = $2 AND id <> $3 AND ${waitsForDate}`,
      [rows[0].register, facts.sha256, id, reason],
    );
  }
  return { id, known: false };
}

/** Records what a comparison found, for the gates and for operators. The state becomes `comparada`. */
export async function recordComparison(
  database: Queryable,
  id: number,
  facts: { rows: number; rejected: number; duplicates: number; result: Record<string, unknown> },
): Promise<void> {
  await database.query(
    `UPDATE publication SET rows = $2, rejected = $3, duplicates = $4, compare_result = $5, state = 'comparada',
       state_reason = NULL, state_at = now()
     WHERE id = $1 AND state IN ('descargada', 'verificada', 'comparada')`,
    [id, facts.rows, facts.rejected, facts.duplicates, JSON.stringify(facts.result)],
  );
}

export async function recordGates(database: Queryable, id: number, gates: readonly GateRecord[]): Promise<void> {
  await database.query('UPDATE publication SET gates = $2 WHERE id = $1', [id, JSON.stringify(gates)]);
}

/** Moves a publication from one of the states `from` to `to`. Returns false when it is in another state. */
export async function movePublication(
  database: Queryable,
  id: number,
  move: { from: readonly PublicationState[]; to: PublicationState; reason: string | null },
): Promise<boolean> {
  const { rowCount } = await database.query(
    `UPDATE publication SET state = $3, state_reason = $4, state_at = now() WHERE id = $1 AND state = ANY ($2)`,
    [id, move.from, move.to, move.reason],
  );
  return rowCount === 1;
}

/** Id of the next publication to become an edition: of all downloaded and unfinished ones, the one published first. */
export async function nextPublication(database: Queryable, register: RegisterName): Promise<number | null> {
  const { rows } = await database.query<{ id: number }>(
    `SELECT id FROM publication WHERE register = $1 AND state IN ('descargada', 'verificada', 'comparada')
     ORDER BY published_at, id LIMIT 1`,
    [register],
  );
  return rows[0]?.id ?? null;
}

/**
 * Whether a publication was detected over `olderThanMs` ago and is still not downloaded, because its `fetch` died or
 * gave up.
 */
export async function hasAbandonedDownload(
  database: Queryable,
  register: RegisterName,
  olderThanMs: number,
): Promise<boolean> {
  const { rows } = await database.query<{ found: boolean }>(
    `SELECT EXISTS (SELECT 1 FROM publication WHERE register = $1 AND state = 'detectada'
       AND state_at < now() - make_interval(secs => $2)) AS found`,
    [register, olderThanMs / 1000],
  );
  return rows[0]!.found;
}
