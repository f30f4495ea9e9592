import type { RegisterName } from '../../schemas/registers.ts';
import type { Queryable } from '../runtime/postgres.ts';
import type { PublicationState } from './publications.ts';

// What the catalogue knows about the past of each register, for the public status: publications with their editions,
// corrections, and checks of the served state. Only figures and times are read, never a row of a register.

/** A publication of the authority, and the edition that was made of it. */
export interface PublishedVersion {
  register: RegisterName;
  state: PublicationState;
  sha256: string | null;
  /** Date of the data, YYYY-MM-DD. */
  fechaDato: string | null;
  /** Null while the publication's time is not known. */
  publishedAt: Date | null;
  /** When we first saw it. */
  detectedAt: Date;
  stateAt: Date;
  /** Whether an operator approved or rejected it. */
  isDecided: boolean;
  edition: number | null;
  changes: number | null;
  rows: number | null;
  /** Whether the edition wrote every row of the register, so that `changes` counts no changes of taxpayers. */
  isFull: boolean;
  /** When look-ups could see the edition. */
  servedAt: Date | null;
}

/**
 * Returns when the authority published it. A time after our first sight of the file is wrong, so that sight counts.
 * Null when no time is known.
 */
export function timeOfPublication({ publishedAt, detectedAt }: PublishedVersion): Date | null {
  return publishedAt !== null && publishedAt > detectedAt ? detectedAt : publishedAt;
}

/** An edition that undid another one by order of an operator. */
export interface AppliedCorrection {
  register: RegisterName;
  number: number;
  corrects: number;
  detectedAt: Date;
  servedAt: Date | null;
}

/** A comparison of the served state with the archive. */
export interface Verification {
  register: RegisterName;
  edition: number;
  checkedAt: Date;
  equal: boolean;
  differences: number;
}

export interface PublishingHistory {
  versions: PublishedVersion[];
  corrections: AppliedCorrection[];
  verifications: Verification[];
}

/** Largest number of rows of each kind. Seven registers with a publication a day make 2,600 in a year. */
const maxRows = 10_000;

/**
 * Reads the past of all registers, the oldest first. A publication in quarantine is read whatever its age.
 * @param since publications seen, corrections made and checks run after it
 */
export async function readPublishingHistory(database: Queryable, since: Date): Promise<PublishingHistory> {
  const versions = await database.query<PublishedVersion>({
    name: 'published-versions',
    text: `SELECT * FROM (
        SELECT p.id, p.register, p.state, p.sha256, p.fecha_dato AS "fechaDato", p.published_at AS "publishedAt",
          p.detected_at AS "detectedAt", p.state_at AS "stateAt", p.decided_by IS NOT NULL AS "isDecided",
          e.number AS edition, e.changes, (e.counts->>'stateRows')::bigint AS rows,
          COALESCE((e.counts->>'baseline')::bigint, 0) > 0 AS "isFull", e.materializada_at AS "servedAt"
        FROM publication p LEFT JOIN edition e ON e.publication_id = p.id
        WHERE p.detected_at >= $1 OR p.state = 'en_cuarentena'
        ORDER BY p.id DESC LIMIT $2) AS newest
      ORDER BY COALESCE("publishedAt", "detectedAt"), id`,
    values: [since, maxRows],
  });
  const corrections = await database.query<AppliedCorrection>({
    name: 'applied-corrections',
    text: `SELECT register, number, corrects, detected_at AS "detectedAt", materializada_at AS "servedAt"
      FROM edition WHERE corrects IS NOT NULL AND detected_at >= $1 ORDER BY detected_at LIMIT $2`,
    values: [since, maxRows],
  });
  const verifications = await database.query<Verification>({
    name: 'verifications',
    text: `SELECT * FROM (
        SELECT id, register, edition, checked_at AS "checkedAt", equal, differences
        FROM reconciliation WHERE checked_at >= $1 ORDER BY id DESC LIMIT $2) AS newest
      ORDER BY id`,
    values: [since, maxRows],
  });
  return { versions: versions.rows, corrections: corrections.rows, verifications: verifications.rows };
}

/** Figures of an edition that look-ups can see. */
export interface ServedFigures {
  register: RegisterName;
  number: number;
  changes: number;
  rows: number | null;
  isFull: boolean;
}

/** Reads the figures of each register's newest complete edition, also of a correction. */
export async function readServedFigures(database: Queryable): Promise<ReadonlyMap<RegisterName, ServedFigures>> {
  const { rows } = await database.query<ServedFigures>({
    name: 'served-figures',
    text: `SELECT head.register, e.number, e.changes, (e.counts->>'stateRows')::bigint AS rows,
        COALESCE((e.counts->>'baseline')::bigint, 0) > 0 AS "isFull"
      FROM register_head head CROSS JOIN LATERAL (
        SELECT * FROM edition WHERE register = head.register AND materializada_at IS NOT NULL
        ORDER BY number DESC LIMIT 1) e`,
  });
  return new Map(rows.map((figures) => [figures.register, figures]));
}
