-- When the retention of raw publications removed its bytes from the archive; what was learned of it stays.
ALTER TABLE publication ADD COLUMN IF NOT EXISTS removed_at timestamptz;
CREATE INDEX IF NOT EXISTS publication_kept ON publication (register, downloaded_at)
  WHERE removed_at IS NULL AND sha256 IS NOT NULL;
