-- Links into the console that work once, what a session may do, and names of tokens.

-- token_id: the token that made the link, which ends with it. Null: an operator made it.
CREATE TABLE IF NOT EXISTS console_link (
  id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  -- SHA-256 of the secret in the link. The secret itself is stored nowhere.
  secret_sha256 bytea NOT NULL UNIQUE CHECK (length(secret_sha256) = 32),
  account_id bigint NOT NULL REFERENCES account (id),
  token_id text REFERENCES token (id),
  capabilities text[] NOT NULL CHECK ('ver' = ANY (capabilities)),
  -- For whom it is, as its maker named it.
  name text CHECK (name <> ''),
  created_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz NOT NULL,
  used_at timestamptz
);
CREATE INDEX IF NOT EXISTS console_link_account ON console_link (account_id, created_at DESC);
CREATE INDEX IF NOT EXISTS console_link_end ON console_link (expires_at);

-- capabilities: null means all, as for who signed in with a token. confirmed_at: when a token or a link was last shown.
ALTER TABLE console_session ADD COLUMN IF NOT EXISTS capabilities text[];
ALTER TABLE console_session ADD COLUMN IF NOT EXISTS confirmed_at timestamptz NOT NULL DEFAULT now();
-- Null: the session began with a link that an operator made.
ALTER TABLE console_session ALTER COLUMN token_id DROP NOT NULL;

-- last_used_at is written at most every ten minutes.
ALTER TABLE token ADD COLUMN IF NOT EXISTS name text CHECK (name <> '');
ALTER TABLE token ADD COLUMN IF NOT EXISTS last_used_at timestamptz;

-- Set when a session of the console has the stream open. Streams of tokens are counted apart.
ALTER TABLE event_stream ADD COLUMN IF NOT EXISTS session_id uuid;
