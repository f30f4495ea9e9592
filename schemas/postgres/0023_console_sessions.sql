-- Sessions of the console. A session stands for the token that was pasted at the sign-in, and ends with it.
CREATE TABLE IF NOT EXISTS console_session (
  -- Names the session in lists. It opens nothing.
  id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  -- SHA-256 of the cookie's value. The value itself is stored nowhere.
  secret_sha256 bytea NOT NULL UNIQUE CHECK (length(secret_sha256) = 32),
  account_id bigint NOT NULL REFERENCES account (id),
  token_id text NOT NULL REFERENCES token (id),
  -- As the customer named it at the sign-in, and what the browser calls itself.
  name text CHECK (name <> ''),
  browser text CHECK (browser <> ''),
  started_at timestamptz NOT NULL DEFAULT now(),
  -- Written at most once a minute.
  last_used_at timestamptz NOT NULL DEFAULT now(),
  -- The latest end, however much the session is used. Later the row is removed.
  ends_at timestamptz NOT NULL
);
CREATE INDEX IF NOT EXISTS console_session_account ON console_session (account_id, last_used_at DESC);
CREATE INDEX IF NOT EXISTS console_session_end ON console_session (ends_at);
