-- The correction that took back what the event says (an edition of its register), written with that correction's own events:
-- nobody sends the event again by hand.
ALTER TABLE event ADD COLUMN IF NOT EXISTS taken_back_by bigint;

-- The response that is kept is not all that was answered: longer than what is kept of it, or it broke off.
ALTER TABLE attempt ADD COLUMN IF NOT EXISTS response_cut boolean NOT NULL DEFAULT false;
