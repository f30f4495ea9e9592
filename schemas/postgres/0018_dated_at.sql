-- When the site last gave the publication a later date. An answer that shows the date changed then, so Last-Modified needs it.
ALTER TABLE publication ADD COLUMN IF NOT EXISTS dated_at timestamptz;
