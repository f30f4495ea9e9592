-- Attempts in a row that ended without an answer in time: from three on an endpoint's rounds run on the queue of slow ones.
-- Written once per round, under the webhook's lock, like its failures in a row.
ALTER TABLE webhook ADD COLUMN IF NOT EXISTS agotados_consecutivos integer NOT NULL DEFAULT 0;
