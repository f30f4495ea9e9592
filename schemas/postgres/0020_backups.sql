-- Finished backups, as the operator's backup job records them. Only their times and names are kept, not the backups.
CREATE TABLE IF NOT EXISTS backup (
  -- base: base backup of PostgreSQL; wal: its write-ahead log; archive: copy of the files of ARCHIVE_URL.
  kind text NOT NULL CHECK (kind IN ('base', 'wal', 'archive')),
  -- The operator's name for the backup, such as its folder.
  label text NOT NULL CHECK (label <> ''),
  finished_at timestamptz NOT NULL,
  PRIMARY KEY (kind, label)
);
CREATE INDEX IF NOT EXISTS backup_newest ON backup (kind, finished_at DESC);
