-- What customers do with deliveries and events: tests of an endpoint, lists of deliveries, recoveries, streams.

-- A test of the endpoint (evento ping): sent while the webhook is paused too, once, and of no account for its health. Its event
-- has position 0, before every cursor, so no history shows it; its ruc is its own id, so it waits for no other delivery.
ALTER TABLE delivery ADD COLUMN IF NOT EXISTS is_test boolean NOT NULL DEFAULT false;
-- A webhook's deliveries in the order in which they are listed and recovered.
CREATE INDEX IF NOT EXISTS delivery_webhook ON delivery (webhook_id, created_at, id);

-- "Send again what failed since T", worked off in chunks: whoever takes the row goes on after (after_at, after_id).
CREATE TABLE IF NOT EXISTS recovery (
  id text PRIMARY KEY,
  webhook_id text NOT NULL REFERENCES webhook (id),
  from_at timestamptz NOT NULL,
  until_at timestamptz NOT NULL,
  states text[] NOT NULL,
  estado text NOT NULL CHECK (estado IN ('simulada', 'en_curso', 'terminada', 'cancelada')),
  -- Deliveries counted when it was asked for, and those made due since.
  total bigint NOT NULL,
  resent bigint NOT NULL DEFAULT 0,
  after_at timestamptz,
  after_id text,
  next_at timestamptz NOT NULL DEFAULT now(),
  created_at timestamptz NOT NULL DEFAULT now(),
  finished_at timestamptz
);
CREATE INDEX IF NOT EXISTS recovery_running ON recovery (next_at) WHERE estado = 'en_curso';
CREATE INDEX IF NOT EXISTS recovery_webhook ON recovery (webhook_id);

-- Open streams of events, of all API processes together. A row whose lease ran out belongs to a process that died.
CREATE TABLE IF NOT EXISTS event_stream (
  id text PRIMARY KEY,
  account_id bigint NOT NULL REFERENCES account (id),
  opened_at timestamptz NOT NULL DEFAULT now(),
  lease_until timestamptz NOT NULL
);
CREATE INDEX IF NOT EXISTS event_stream_account ON event_stream (account_id);
