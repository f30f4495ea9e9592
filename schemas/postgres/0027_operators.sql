-- People who use the operators' console, their one-time links and sessions, and what operators did.
CREATE TABLE IF NOT EXISTS operator (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name text NOT NULL UNIQUE CHECK (name <> ''),
  -- viewer: sees all pages. decider: also acts.
  role text NOT NULL CHECK (role IN ('viewer', 'decider')),
  -- Who this is at the identity provider: its address, a space, and its lasting id of the person. Null: came by a link.
  subject text UNIQUE CHECK (subject <> ''),
  created_at timestamptz NOT NULL DEFAULT now(),
  -- From then on neither a link nor a session of the operator works.
  revoked_at timestamptz
);

CREATE TABLE IF NOT EXISTS operator_link (
  -- SHA-256 of the secret in the link. The secret itself is stored nowhere.
  secret_sha256 bytea PRIMARY KEY CHECK (length(secret_sha256) = 32),
  operator_id bigint NOT NULL REFERENCES operator (id),
  made_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz NOT NULL,
  -- A link opens one session. Expired links are removed.
  used_at timestamptz
);
CREATE INDEX IF NOT EXISTS operator_link_end ON operator_link (expires_at);

CREATE TABLE IF NOT EXISTS operator_session (
  -- Names the session in lists. It opens nothing.
  id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  secret_sha256 bytea NOT NULL UNIQUE CHECK (length(secret_sha256) = 32),
  operator_id bigint NOT NULL REFERENCES operator (id),
  -- What the browser calls itself.
  browser text CHECK (browser <> ''),
  started_at timestamptz NOT NULL DEFAULT now(),
  -- Written at most once a minute.
  last_used_at timestamptz NOT NULL DEFAULT now(),
  -- The latest end, however much the session is used. Later the row is removed.
  ends_at timestamptz NOT NULL
);
CREATE INDEX IF NOT EXISTS operator_session_end ON operator_session (ends_at);

CREATE TABLE IF NOT EXISTS operator_act (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at timestamptz NOT NULL DEFAULT now(),
  -- The operator's name in the console, or what the command's option --by says.
  who text NOT NULL CHECK (who <> ''),
  way text NOT NULL CHECK (way IN ('console', 'command')),
  -- Named as the command, such as 'publications approve'.
  act text NOT NULL CHECK (act <> ''),
  -- What the act was about, such as 'publication 7'.
  subject text NOT NULL CHECK (subject <> ''),
  reason text CHECK (reason <> ''),
  before jsonb,
  after jsonb
);
CREATE INDEX IF NOT EXISTS operator_act_subject ON operator_act (subject, id DESC);

-- What was done stays as it was written.
CREATE OR REPLACE FUNCTION refuse_change_of_act() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'an operator''s act is never changed or removed';
END $$;
CREATE OR REPLACE TRIGGER operator_act_stays BEFORE UPDATE OR DELETE ON operator_act
  FOR EACH ROW EXECUTE FUNCTION refuse_change_of_act();
