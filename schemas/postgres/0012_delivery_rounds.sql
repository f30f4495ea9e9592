-- Attempts in a row that ended without an answer in time: from three on an endpoint's rounds run on the queue of slow ones.
-- Written once per round, under the webhook's lock, like its failures in a row.
ALTER TABLE webhook ADD COLUMN IF NOT EXISTS agotados_consecutivos integer NOT NULL DEFAULT 0;

-- What is due, in the order in which it leaves: a claim stops at the first that it may take.
DROP INDEX IF EXISTS delivery_due;
CREATE INDEX IF NOT EXISTS delivery_due_order ON delivery (webhook_id, next_due_at, position)
  WHERE estado IN ('pendiente', 'en_curso');

-- What goes before a delivery. Not partial on purpose: statistics taken while nothing was open (a day sent, a webhook paused)
-- make any index of open deliveries look empty, and PostgreSQL would read all of it for every single delivery.
DROP INDEX IF EXISTS delivery_open_ruc;
CREATE INDEX IF NOT EXISTS delivery_company ON delivery (webhook_id, ruc, position);
