import { changesTopic, editionsTopic, type RegisterName } from '../../schemas/registers.ts';
import { peekChange } from '../changes/record.ts';
import { adoptCommand, streamAheadReason } from '../editions/adopt.ts';
import { recordedEnds } from '../editions/editions.ts';
import { readHead } from '../editions/heads.ts';
import type { ClickHouseClient } from '../runtime/clickhouse.ts';
import type { Pool } from '../runtime/postgres.ts';
import { hasVersionFrom, versionAbove } from './progress.ts';
import { type EditionRecord, editionRecords, readTail, type Tail, type TailDependencies } from './tail.ts';

export interface CheckDependencies extends TailDependencies {
  pool: Pool;
  /** The ClickHouse servers whose rows count. A row of one of them is enough to show an edition. */
  servers: readonly CheckedServer[];
  /** How far earlier checks have read Kafka, so that a replayed edition's records are not read again at each check. */
  read?: Map<RegisterName, ReadTopics>;
}

export interface CheckedServer {
  clickhouse: ClickHouseClient;
  /** Only with several ClickHouse replicas. */
  replica?: string | undefined;
}

/** The offsets up to which a check read a register's two topics. It found no edition later than `edition`, the head. */
interface ReadTopics {
  edition: number;
  changes: readonly number[];
  editions: readonly number[];
}

export interface CatalogueCheck {
  /** The register's head at the end of the check. */
  edition: number;
  /** The highest edition that was found in Kafka or ClickHouse, or the head's number if that is higher. */
  newest: number;
  /** Records of the editions topic for editions that the catalogue lacks, oldest first. */
  records: readonly EditionRecord[];
  /** Why no further edition may be made; null if the catalogue, Kafka and ClickHouse agree. */
  problem: string | null;
}

/**
 * - `kafka` reads Kafka's end offsets, and only those records that lie after the offsets which the catalogue knows.
 * - `all` also asks ClickHouse for versions above the head, and for the last served one. Both stop as soon as they have
 *   found an edition that the catalogue lacks.
 * - `adoption` looks everywhere, so that `newest` and `records` are complete.
 */
export type CheckScope = 'kafka' | 'all' | 'adoption';

/**
 * Compares a register's catalogue with what Kafka and ClickHouse have of the register. Kafka and ClickHouse are ahead
 * after PostgreSQL was restored from a backup older than the last editions. The next edition would then get a number
 * that already stands for other rows, and readers could not distinguish the two. ClickHouse is behind after ClickHouse
 * itself was restored, and the next edition would hide what is missing.
 */
export async function compareCatalogue(
  dependencies: CheckDependencies,
  register: RegisterName,
  scope: CheckScope,
): Promise<CatalogueCheck> {
  const { pool, servers } = dependencies;
  const { edition: before } = await readHead(pool, register);
  const served = await lastServed(pool, register);
  const { changes, editions } = await unreadParts(dependencies, register, before);
  const records = await editionRecords(dependencies, register, editions.from[0] ?? 0);
  // `newest` is at least the head before the check. So if the database is restored during the check, `newest` is higher
  // than the head at the end, which is reported as a problem.
  let newest = Math.max(before, ...records.map(({ edition }) => edition));
  const isDone = () => scope !== 'adoption' && newest > before;
  let behind: CheckedServer | undefined;
  if (scope !== 'kafka' && !isDone()) {
    const above = await Promise.all(servers.map(({ clickhouse }) => versionAbove(clickhouse, register, before)));
    newest = Math.max(newest, ...above);
    if (newest === before && served > 0) {
      const whole = await Promise.all(servers.map(({ clickhouse }) => hasVersionFrom(clickhouse, register, served)));
      behind = servers.find((_, at) => !whole[at]);
    }
  }
  if (!isDone()) newest = Math.max(newest, await newestChange(dependencies, changes));
  // The head is read after Kafka and ClickHouse. An edition gets its row in the catalogue before its first record, so an
  // edition that another worker makes meanwhile does not look like one that the catalogue lacks.
  const { edition } = await readHead(pool, register);
  const other = await otherContent(pool, register, records);
  const lacked = records.filter((record) => record.edition > edition);
  let problem: string | null = null;
  if (newest > edition) problem = aheadText(register, edition, newest);
  else if (other !== null) problem = otherText(register, other);
  else if (behind !== undefined) problem = await behindText(behind, register, served);
  else dependencies.read?.set(register, { edition, changes: changes.ends, editions: editions.ends });
  return { edition, newest: Math.max(newest, edition), records: lacked, problem };
}

/** The parts of the register's two topics that may hold an edition later than the head. */
async function unreadParts(
  { pool, offsets, prefix, read }: CheckDependencies,
  register: RegisterName,
  head: number,
): Promise<{ changes: Tail; editions: Tail }> {
  const recorded = await recordedEnds(pool, register);
  const known = read?.get(register);
  const partOf = async (topic: string, from: readonly number[], earlier: readonly number[] = []): Promise<Tail> => {
    const ends = await offsets.ends(topic);
    // An earlier check that read up to `earlier` found no edition later than the head of that time (`known.edition`).
    // If today's head is lower, that reading does not count, because it may have passed over editions that the restored
    // catalogue lacks. It does not count either if a log is now shorter, because the log has other records then.
    const isValid = known !== undefined && known.edition <= head && earlier.every((end, at) => (ends[at] ?? 0) >= end);
    return { topic, ends, from: ends.map((_, at) => Math.max(from[at] ?? 0, isValid ? (earlier[at] ?? 0) : 0)) };
  };
  return {
    changes: await partOf(changesTopic(prefix, register), recorded.changes, known?.changes),
    editions: await partOf(editionsTopic(prefix, register), [recorded.editions], known?.editions),
  };
}

/** The highest edition of a record in this part of the changes topic; 0 if there is no record. */
async function newestChange(dependencies: CheckDependencies, tail: Tail): Promise<number> {
  let newest = 0;
  await readTail(dependencies, tail, ({ value }) => {
    newest = Math.max(newest, peekChange(value!).edition);
  });
  return newest;
}

/** The last edition that must have rows in ClickHouse; 0 if there is none. */
async function lastServed(pool: Pool, register: RegisterName): Promise<number> {
  const { rows } = await pool.query<{ number: number | null }>(
    'SELECT max(number) AS number FROM edition WHERE register = $1 AND changes > 0 AND materializada_at IS NOT NULL',
    [register],
  );
  return rows[0]!.number ?? 0;
}

/** The first edition whose last record in the editions topic names another change file than the catalogue; or null. */
async function otherContent(
  pool: Pool,
  register: RegisterName,
  records: readonly EditionRecord[],
): Promise<number | null> {
  if (records.length === 0) return null;
  const last = new Map(records.map((record) => [record.edition, record.change_file_sha256]));
  const { rows } = await pool.query<{ number: number }>(
    `SELECT edition.number FROM unnest($2::bigint[], $3::text[]) AS last (number, sha256)
     JOIN edition ON edition.register = $1 AND edition.number = last.number
     WHERE edition.change_file_sha256 <> last.sha256 ORDER BY edition.number LIMIT 1`,
    [register, [...last.keys()], [...last.values()]],
  );
  return rows[0]?.number ?? null;
}

function aheadText(register: RegisterName, edition: number, newest: number): string {
  return (
    `${streamAheadReason}: Kafka or ClickHouse has edition ${newest} of ${register}, and the catalogue ends at ` +
    `${edition}, as if PostgreSQL was restored from an older backup: nothing is published before ` +
    `\`${adoptCommand}\` has brought the missing editions in`
  );
}

function otherText(register: RegisterName, edition: number): string {
  return (
    `stream_differs: edition ${edition} of ${register} has another content in Kafka than in the catalogue: nothing is ` +
    'published before PostgreSQL is restored from a backup that has the content of Kafka'
  );
}

async function behindText(server: CheckedServer, register: RegisterName, served: number): Promise<string> {
  const { clickhouse, replica } = server;
  const reason = behindReason(register, await versionAbove(clickhouse, register, 0), served);
  const where = replica === undefined ? '' : ` --replica ${replica}`;
  return (
    `${reason}: nothing is published before its consumer has read the rest, or ` +
    `\`npx padron rebuild --register ${register}${where}\` has made it`
  );
}

/** What an operator reads when ClickHouse was restored from an older copy or lost the newest edition's rows. */
export function behindReason(register: RegisterName, stored: number, served: number): string {
  return `clickhouse_behind: ClickHouse ends at edition ${stored} of ${register}, and the catalogue serves ${served}`;
}
