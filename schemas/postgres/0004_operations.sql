-- What operators do: pauses, corrections, reconciliations.

-- The address at which a version was found: sources whose address names a month have a new one each month.
ALTER TABLE publication ADD COLUMN IF NOT EXISTS url text;

-- A paused register downloads on (no day may be missed) and makes no new edition until it is resumed.
ALTER TABLE register_head
  ADD COLUMN IF NOT EXISTS paused_at timestamptz,
  ADD COLUMN IF NOT EXISTS paused_by text,
  ADD COLUMN IF NOT EXISTS paused_reason text;

-- An operator's order to undo an edition. It becomes an edition of its own (edition.corrects), without a publication.
CREATE TABLE IF NOT EXISTS correction (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  register text NOT NULL,
  corrects bigint NOT NULL,
  requested_by text NOT NULL,
  reason text,
  requested_at timestamptz NOT NULL DEFAULT now(),
  state text NOT NULL DEFAULT 'pedida' CHECK (state IN ('pedida', 'comparada', 'publicando', 'publicada', 'rechazada')),
  state_reason text,
  state_at timestamptz NOT NULL DEFAULT now(),
  compare_result jsonb,
  -- The edition it became; set in the transaction that moves the head.
  edition bigint,
  FOREIGN KEY (register, corrects) REFERENCES edition (register, number)
);
-- An edition is undone once.
CREATE UNIQUE INDEX IF NOT EXISTS correction_identity ON correction (register, corrects) WHERE state <> 'rechazada';

-- Each comparison of the state in ClickHouse with the archive.
CREATE TABLE IF NOT EXISTS reconciliation (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  register text NOT NULL,
  edition bigint NOT NULL,
  checked_at timestamptz NOT NULL DEFAULT now(),
  equal boolean NOT NULL,
  rows bigint NOT NULL,
  differences bigint NOT NULL,
  -- Counts by kind of difference, and the first ones listed with natural persons masked.
  detail jsonb NOT NULL DEFAULT '{}'
);
CREATE INDEX IF NOT EXISTS reconciliation_latest ON reconciliation (register, id DESC);
