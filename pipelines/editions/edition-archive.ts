import { z } from 'zod';
import type { RegisterName } from '../../schemas/registers.ts';
import type { TextStore } from '../archive/archive.ts';
import { openTexts } from '../archive/open.ts';
import type { Pool } from '../runtime/postgres.ts';

const row = z.record(z.string(), z.unknown());

const archivedEdition = z.object({
  /** The edition's row in PostgreSQL, without the columns that say how far it has come. */
  edition: z.looseObject({
    register: z.string(),
    number: z.number().int().positive(),
    fecha_dato: z.string(),
    published_at: z.string(),
    detected_at: z.string(),
    change_file_sha256: z.string(),
    corrects: z.number().int().positive().nullable(),
    changes: z.number().int().nonnegative(),
  }),
  /** The row of the publication that the edition was made from. Null for a correction. */
  publication: row.nullable(),
  /** The row of the operator's order that the edition was made from. Null for other editions. */
  correction: row.nullable(),
});

/** The catalogue's rows about an edition, as they were before the first record of the edition was produced. */
export type ArchivedEdition = z.output<typeof archivedEdition>;

// The tables need aliases, because `correction` has a column `edition`: `to_jsonb(edition)` would mean that column and
// not the row of the table `edition`.
const selectRows = `
  SELECT to_jsonb(e) - '{publicada_at,materializada_at,avisada_at,stream_end}'::text[] AS edition,
    to_jsonb(p) AS publication, to_jsonb(c) AS correction
  FROM edition e
  LEFT JOIN publication p ON p.id = e.publication_id
  LEFT JOIN correction c ON c.register = e.register AND c.edition = e.number
  WHERE e.register = $1 AND e.number = ANY ($2)`;

/**
 * Keeps the catalogue's rows about each edition in the archive, beside its change file. PostgreSQL may be restored from
 * a backup that is older than the last editions, while Kafka and ClickHouse have them. The rows then come from here
 * (`adoptEdition`). A text is named by the edition's number and the hash of its change file, and never changes.
 */
export class EditionArchive {
  readonly #archiveUrl: string;
  #opened: Promise<TextStore> | undefined;

  constructor(archiveUrl: string) {
    this.#archiveUrl = archiveUrl;
  }

  /** Call this before the first record of the edition is produced. A repeat changes nothing. */
  async put(pool: Pool, register: RegisterName, numbers: readonly number[]): Promise<void> {
    const texts = await this.#texts();
    const { rows } = await pool.query<ArchivedEdition>(selectRows, [register, numbers]);
    for (const found of rows) {
      await texts.put(
        register,
        fileName(found.edition.number, found.edition.change_file_sha256),
        JSON.stringify(found),
      );
    }
  }

  /**
   * Archives the produced editions that the archive lacks, because a release without this archive produced them. The
   * texts of the other editions are not read, only the list of their names.
   */
  async putMissing(pool: Pool, register: RegisterName): Promise<void> {
    const there = new Set(await (await this.#texts()).list(register));
    const { rows } = await pool.query<{ number: number; sha256: string }>(
      `SELECT number, change_file_sha256 AS sha256 FROM edition
       WHERE register = $1 AND publicada_at IS NOT NULL ORDER BY number`,
      [register],
    );
    const missing = rows.filter(({ number, sha256 }) => !there.has(fileName(number, sha256)));
    if (missing.length > 0) {
      await this.put(
        pool,
        register,
        missing.map(({ number }) => number),
      );
    }
  }

  /** Every content that was ever archived under this number. More than one only if a restored database reused it. */
  async find(register: RegisterName, number: number): Promise<ArchivedEdition[]> {
    const texts = await this.#texts();
    const files = (await texts.list(register)).filter((file) => file.startsWith(`${number}.`));
    return Promise.all(
      files.map(async (file) => archivedEdition.parse(JSON.parse((await texts.read(register, file))!))),
    );
  }

  #texts(): Promise<TextStore> {
    this.#opened ??= openTexts(this.#archiveUrl, 'editions');
    return this.#opened;
  }
}

function fileName(number: number, changeFileSha256: string): string {
  return `${number}.${changeFileSha256}.json`;
}
