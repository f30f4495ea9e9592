-- The catalogue: publications as downloaded, the editions they became, and the head of each register.

CREATE TABLE IF NOT EXISTS publication (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  register text NOT NULL,
  sha256 text,
  fecha_dato date,
  published_at timestamptz,
  validators jsonb NOT NULL DEFAULT '{}',
  bytes bigint,
  rows bigint,
  rejected bigint,
  duplicates bigint,
  gates jsonb NOT NULL DEFAULT '[]',
  state text NOT NULL DEFAULT 'detectada' CHECK (state IN ('detectada', 'descargada', 'verificada', 'comparada',
    'publicando', 'publicada', 'en_cuarentena', 'rechazada', 'repetida', 'sustituida')),
  state_reason text,
  decided_by text,
  compare_result jsonb,
  detected_at timestamptz NOT NULL DEFAULT now(),
  downloaded_at timestamptz,
  state_at timestamptz NOT NULL DEFAULT now()
);
-- One row for one publication however often it is probed: the same bytes published at the same time are the same publication.
CREATE UNIQUE INDEX IF NOT EXISTS publication_identity ON publication (register, sha256, published_at) WHERE sha256 IS NOT NULL;
CREATE INDEX IF NOT EXISTS publication_open ON publication (register, published_at)
  WHERE state IN ('detectada', 'descargada', 'verificada', 'comparada', 'publicando');

CREATE TABLE IF NOT EXISTS edition (
  register text NOT NULL,
  number bigint NOT NULL CHECK (number > 0),
  publication_id bigint REFERENCES publication (id),
  corrects bigint,
  fecha_dato date NOT NULL,
  published_at timestamptz NOT NULL,
  detected_at timestamptz NOT NULL,
  change_file_sha256 text NOT NULL,
  overlay_sha256 text,
  parser_version integer NOT NULL,
  columns text[] NOT NULL,
  changes bigint NOT NULL,
  counts jsonb NOT NULL,
  -- Set once, in this order; null means not yet.
  publicada_at timestamptz,
  materializada_at timestamptz,
  avisada_at timestamptz,
  PRIMARY KEY (register, number),
  CHECK ((publication_id IS NULL) <> (corrects IS NULL))
);

CREATE TABLE IF NOT EXISTS edition_partition (
  register text NOT NULL,
  edition bigint NOT NULL,
  partition integer NOT NULL,
  rows bigint NOT NULL,
  end_offset bigint NOT NULL,
  PRIMARY KEY (register, edition, partition),
  FOREIGN KEY (register, edition) REFERENCES edition (register, number)
);

-- The only base of a difference. edition = 0: nothing yet. fecha_dato moves forward by itself when the same bytes are published again.
CREATE TABLE IF NOT EXISTS register_head (
  register text PRIMARY KEY,
  edition bigint NOT NULL DEFAULT 0,
  fecha_dato date,
  published_at timestamptz,
  publication_sha256 text,
  publication_validators jsonb NOT NULL DEFAULT '{}',
  partitions integer NOT NULL CHECK (partitions > 0),
  probed_at timestamptz
);
