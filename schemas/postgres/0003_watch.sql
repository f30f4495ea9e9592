-- Watch lists, webhooks, and what they are told: events, deliveries, attempts.

CREATE TABLE IF NOT EXISTS watch_list (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  account_id bigint NOT NULL REFERENCES account (id),
  nombre text NOT NULL,
  referencia text,
  created_at timestamptz NOT NULL DEFAULT now(),
  deleted_at timestamptz
);
CREATE UNIQUE INDEX IF NOT EXISTS watch_list_name ON watch_list (account_id, nombre) WHERE deleted_at IS NULL;

CREATE TABLE IF NOT EXISTS watch_member (
  list_id bigint NOT NULL REFERENCES watch_list (id),
  ruc text NOT NULL CHECK (ruc ~ '^20[0-9]{9}$'),
  added_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (list_id, ruc)
);
CREATE INDEX IF NOT EXISTS watch_member_ruc ON watch_member (ruc);

CREATE TABLE IF NOT EXISTS webhook (
  id text PRIMARY KEY,
  account_id bigint NOT NULL REFERENCES account (id),
  url text NOT NULL,
  -- null: every kind of event, every list
  eventos text[],
  listas bigint[],
  descripcion text,
  limite_por_segundo integer NOT NULL DEFAULT 20 CHECK (limite_por_segundo BETWEEN 1 AND 200),
  en_vuelo integer NOT NULL DEFAULT 10 CHECK (en_vuelo BETWEEN 1 AND 50),
  estado text NOT NULL DEFAULT 'activo' CHECK (estado IN ('activo', 'pausado')),
  pausado_por text CHECK (pausado_por IN ('fallos', 'respuesta_410', 'cliente')),
  fallos_consecutivos integer NOT NULL DEFAULT 0,
  primer_fallo_at timestamptz,
  ultima_entrega_at timestamptz,
  created_at timestamptz NOT NULL DEFAULT now(),
  deleted_at timestamptz
);
CREATE INDEX IF NOT EXISTS webhook_account ON webhook (account_id) WHERE deleted_at IS NULL;

-- Secrets are encrypted (AES-256-GCM); key_id names the key of the environment that opens them.
CREATE TABLE IF NOT EXISTS webhook_secret (
  webhook_id text NOT NULL REFERENCES webhook (id),
  number integer NOT NULL,
  key_id text NOT NULL,
  sealed bytea NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz,
  PRIMARY KEY (webhook_id, number)
);

-- Who works on a webhook's deliveries now, and when something is next due. wake_seq is raised by whoever adds work.
CREATE TABLE IF NOT EXISTS webhook_work (
  webhook_id text PRIMARY KEY REFERENCES webhook (id),
  wake_seq bigint NOT NULL DEFAULT 0,
  -- Until then somebody works and will look again before it ends: adding work needs no signal.
  lease_until timestamptz,
  next_due_at timestamptz,
  -- No delivery of an earlier day is pending or under way; null: none at all. Deliveries stand in a partition per day and are
  -- kept for a year: without this bound every claim would plan over all of them.
  open_since date
);
CREATE INDEX IF NOT EXISTS webhook_work_due ON webhook_work (next_due_at) WHERE next_due_at IS NOT NULL;

-- The last position given to an event of the account. Locked by the transaction that writes events: commit order is cursor order.
CREATE TABLE IF NOT EXISTS account_position (
  account_id bigint PRIMARY KEY REFERENCES account (id),
  last_position bigint NOT NULL DEFAULT 0
);

-- day: the edition's detection day in Lima. The payload is stored once, here: the exact bytes that are signed and sent.
CREATE TABLE IF NOT EXISTS event (
  day date NOT NULL,
  id text NOT NULL,
  account_id bigint NOT NULL,
  position bigint NOT NULL,
  list_id bigint NOT NULL,
  evento text NOT NULL,
  register text NOT NULL,
  edition bigint NOT NULL,
  ruc text NOT NULL,
  fecha_dato date NOT NULL,
  ocurrido_en timestamptz NOT NULL,
  payload text NOT NULL,
  PRIMARY KEY (day, id)
) PARTITION BY RANGE (day);
CREATE INDEX IF NOT EXISTS event_account_position ON event (account_id, position);
CREATE INDEX IF NOT EXISTS event_edition ON event (register, edition);

CREATE TABLE IF NOT EXISTS delivery (
  day date NOT NULL,
  id text NOT NULL,
  event_id text NOT NULL,
  webhook_id text NOT NULL,
  account_id bigint NOT NULL,
  ruc text NOT NULL,
  -- the event's position: first attempts of one RUC leave in this order
  position bigint NOT NULL,
  estado text NOT NULL DEFAULT 'pendiente' CHECK (estado IN ('pendiente', 'en_curso', 'entregada', 'agotada',
    'retenida', 'descartada', 'cancelada')),
  -- attempts made in all; the number of the last one
  intentos integer NOT NULL DEFAULT 0,
  -- failed attempts since the retry schedule (re)started: a resume sets it back, an attempt with unknown outcome does not count
  fallos_del_ciclo integer NOT NULL DEFAULT 0,
  -- pendiente: when to send; en_curso: when its lease ends, since it is due again then; else null
  next_due_at timestamptz,
  lease_token text,
  lease_until timestamptz,
  created_at timestamptz NOT NULL DEFAULT now(),
  finished_at timestamptz,
  PRIMARY KEY (day, id)
) PARTITION BY RANGE (day);
-- Only what may still be sent: held deliveries (retenida) sit outside.
CREATE INDEX IF NOT EXISTS delivery_due ON delivery (webhook_id, next_due_at) WHERE estado IN ('pendiente', 'en_curso');
-- Finds what goes before a delivery: the same RUC's earlier and running ones.
CREATE INDEX IF NOT EXISTS delivery_open_ruc ON delivery (webhook_id, ruc, position) WHERE estado IN ('pendiente', 'en_curso');
CREATE INDEX IF NOT EXISTS delivery_held ON delivery (webhook_id, position) WHERE estado = 'retenida';
CREATE INDEX IF NOT EXISTS delivery_event ON delivery (event_id);

CREATE TABLE IF NOT EXISTS attempt (
  day date NOT NULL,
  delivery_id text NOT NULL,
  number integer NOT NULL,
  started_at timestamptz NOT NULL,
  duration_ms integer,
  http_status integer,
  -- a class of failure (see workflows/delivery), never an address or a system's own text; null after a success.
  -- Written as resultado_desconocido when the attempt starts: that is what stays if the worker dies.
  failure text,
  response bytea,
  PRIMARY KEY (day, delivery_id, number)
) PARTITION BY RANGE (day);

-- Makes the day's partitions. Repeatable; called before an edition detected on that day is published.
CREATE OR REPLACE FUNCTION ensure_event_day(wanted date) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  parent text;
  partition_name text;
BEGIN
  FOREACH parent IN ARRAY ARRAY['event', 'delivery', 'attempt'] LOOP
    partition_name := parent || '_' || to_char(wanted, 'YYYYMMDD');
    IF to_regclass(partition_name) IS NULL THEN
      -- Two callers at once: the second waits here and then finds the partition.
      PERFORM pg_advisory_xact_lock(hashtext('ensure_event_day'));
      EXECUTE format('CREATE TABLE IF NOT EXISTS %I PARTITION OF %I FOR VALUES FROM (%L) TO (%L)',
        partition_name, parent, wanted, wanted + 1);
    END IF;
  END LOOP;
END $$;
