-- What operators add to the calendar between releases. Nothing is changed or removed: of one key the newest row counts,
-- and the rows before it tell who said what, and which due dates a newer table has moved.
CREATE TABLE IF NOT EXISTS calendar_addition (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  kind text NOT NULL CHECK (kind IN ('decree', 'table')),
  -- The decree's number, or the table's year.
  key text NOT NULL,
  document jsonb NOT NULL,
  added_by text NOT NULL,
  reason text,
  added_at timestamptz NOT NULL DEFAULT now()
);
