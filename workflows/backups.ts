import { Gauge, type Registry } from 'prom-client';
import type { Pool, Queryable } from '../pipelines/runtime/postgres.ts';

/**
 * What is backed up (deploy/backup/README.md): `base` is PostgreSQL's base backup, `wal` its write-ahead log, and
 * `archive` the copy of the files of ARCHIVE_URL.
 */
export const backupKinds = ['base', 'wal', 'archive'] as const;
export type BackupKind = (typeof backupKinds)[number];

export interface Backup {
  kind: BackupKind;
  label: string;
  finished_at: Date;
}

/**
 * Records that a backup was finished. A repeat changes nothing. A label that is used again for a later backup gets the
 * later time, so the age is right for a job that always writes the same name.
 * @param finishedAt null means now, by PostgreSQL's clock
 * @returns null when the time is in the future; it would hide that later backups are missing
 */
export async function recordBackup(
  db: Queryable,
  kind: BackupKind,
  label: string,
  finishedAt: Date | null,
): Promise<Backup | null> {
  const { rows } = await db.query<Backup>(
    `INSERT INTO backup (kind, label, finished_at)
     SELECT $1, $2, coalesce($3, now()) WHERE coalesce($3, now()) <= now()
     ON CONFLICT (kind, label) DO UPDATE SET finished_at = greatest(backup.finished_at, excluded.finished_at)
     RETURNING kind, label, finished_at`,
    [kind, label, finishedAt],
  );
  return rows[0] ?? null;
}

/**
 * WAL needs no `padron backup record` when PostgreSQL archives it by `archive_command`: the server knows the last file
 * that the command accepted. It forgets this at a failover or a restore, until the next file.
 */
const allBackups = `WITH found AS (
  SELECT kind, label, finished_at FROM backup
  UNION ALL
  SELECT 'wal', last_archived_wal, last_archived_time FROM pg_stat_archiver WHERE last_archived_time IS NOT NULL
)`;

/** Returns recorded backups, newest first, and the last WAL file that PostgreSQL's own archiver has stored. */
export async function listBackups(db: Queryable, kind: BackupKind | null, maxRows: number): Promise<Backup[]> {
  const { rows } = await db.query<Backup>(
    `${allBackups} SELECT kind, label, finished_at FROM found WHERE $1::text IS NULL OR kind = $1
     ORDER BY finished_at DESC, kind LIMIT $2`,
    [kind, maxRows],
  );
  return rows;
}

/** Adds the age of the newest backup of each kind. A kind that has no backup has no line. Each scrape reads it anew. */
export function addBackupMetric(registry: Registry, pool: Pool): void {
  new Gauge({
    name: 'padron_backup_age_seconds',
    help: 'Seconds since the newest backup of this kind was finished (base, wal, archive)',
    labelNames: ['kind'],
    registers: [registry],
    async collect() {
      this.reset();
      const { rows } = await pool.query<{ kind: BackupKind; age: number }>(
        `${allBackups} SELECT kind, greatest(extract(epoch FROM now() - max(finished_at)), 0)::float8 AS age
         FROM found GROUP BY kind`,
      );
      for (const { kind, age } of rows) this.set({ kind }, age);
    },
  });
}
