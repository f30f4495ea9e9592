-- Accounts, plans and tokens.

CREATE TABLE IF NOT EXISTS plan (
  name text PRIMARY KEY,
  rank integer NOT NULL UNIQUE,
  lookups_per_month bigint NOT NULL,
  requests_per_minute integer NOT NULL
);
INSERT INTO plan (name, rank, lookups_per_month, requests_per_minute) VALUES
  ('free', 1, 100, 30), ('micro', 2, 10000, 120), ('crecimiento', 3, 100000, 600), ('empresa', 4, 1000000, 3000)
ON CONFLICT (name) DO NOTHING;

CREATE TABLE IF NOT EXISTS account (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name text NOT NULL,
  plan text NOT NULL REFERENCES plan (name),
  email text,
  -- The data-processing contract that opens natural persons' records; null means none.
  contract_reference text,
  contract_from date,
  contract_until date,
  created_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE IF NOT EXISTS token (
  id text PRIMARY KEY,
  account_id bigint NOT NULL REFERENCES account (id),
  secret_sha256 bytea NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  revoked_at timestamptz
);

-- Every answer about a natural person: who asked, when, under which contract, and a keyed hash of the RUC.
CREATE TABLE IF NOT EXISTS natural_person_audit (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  account_id bigint NOT NULL REFERENCES account (id),
  token_id text NOT NULL,
  contract_reference text NOT NULL,
  ruc_hmac bytea NOT NULL,
  route text NOT NULL,
  request_id text NOT NULL,
  at timestamptz NOT NULL DEFAULT now()
);
