-- Operational notices about webhooks, written in the transaction that changes the webhook, and mailed after it.
CREATE TABLE IF NOT EXISTS notice (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  account_id bigint NOT NULL REFERENCES account (id),
  webhook_id text NOT NULL REFERENCES webhook (id),
  kind text NOT NULL CHECK (kind IN ('webhook.por_pausar', 'webhook.pausado', 'webhook.reanudado')),
  detail jsonb NOT NULL,
  -- What the notice is about, where it may be said once only: a warning of one series of failures.
  once text,
  at timestamptz NOT NULL DEFAULT now(),
  mailed_at timestamptz,
  mail_attempts integer NOT NULL DEFAULT 0,
  -- When to mail it, or to look whether the last try was recorded; null: mailed or given up.
  mail_due_at timestamptz DEFAULT now()
);
CREATE UNIQUE INDEX IF NOT EXISTS notice_once ON notice (webhook_id, once) WHERE once IS NOT NULL;
CREATE INDEX IF NOT EXISTS notice_account ON notice (account_id, id);
CREATE INDEX IF NOT EXISTS notice_mail_due ON notice (mail_due_at) WHERE mail_due_at IS NOT NULL;
CREATE INDEX IF NOT EXISTS notice_at ON notice (at);

-- The highest position of an event of the account that the retention removed: a cursor before it may have missed one.
ALTER TABLE account_position ADD COLUMN IF NOT EXISTS removed_through bigint NOT NULL DEFAULT 0;

-- Since when the account's plan does not watch; such a webhook is paused. pausado_por is null where nothing else paused it.
ALTER TABLE webhook ADD COLUMN IF NOT EXISTS plan_held_since timestamptz;
CREATE INDEX IF NOT EXISTS webhook_plan_held ON webhook (plan_held_since) WHERE plan_held_since IS NOT NULL;
