-- Answers that are given again byte for byte: batches under an Idempotency-Key, and supplier checks as evidence.

-- A key under way is a lease, an answered one is kept; held_until ends either, and then the key is as good as unused.
-- Keys are kept as SHA-256 only: callers put what they like into them. Answers are encrypted (AES-256-GCM) under the key
-- that key_id names, since they may hold natural persons' records.
CREATE TABLE IF NOT EXISTS idempotent_answer (
  account_id bigint NOT NULL REFERENCES account (id),
  key_sha256 bytea NOT NULL,
  -- SHA-256 of the request's body
  fingerprint bytea NOT NULL,
  -- which request works on it; another one may only take over after held_until
  holder uuid NOT NULL,
  held_until timestamptz NOT NULL,
  -- null while the request is under way
  key_id text,
  sealed bytea,
  -- whether the answer holds records that only a data-processing contract opens
  holds_persons boolean NOT NULL DEFAULT false,
  PRIMARY KEY (account_id, key_sha256)
);
CREATE INDEX IF NOT EXISTS idempotent_answer_held_until ON idempotent_answer (held_until);

-- The exact answer of a supplier check, written before it is sent. Companies only, so it is not encrypted.
CREATE TABLE IF NOT EXISTS supplier_check (
  id uuid PRIMARY KEY,
  account_id bigint NOT NULL REFERENCES account (id),
  answer text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  kept_until timestamptz NOT NULL
);
CREATE INDEX IF NOT EXISTS supplier_check_kept_until ON supplier_check (kept_until);
