-- What an account used per day in Lima, from the month's units and from prepaid units. A row is written by the statement
-- that charges, so both are committed or neither. Days before this table have no rows.
CREATE TABLE IF NOT EXISTS quota_day (
  account_id bigint NOT NULL REFERENCES account (id),
  day date NOT NULL,
  units bigint NOT NULL,
  PRIMARY KEY (account_id, day)
);
CREATE INDEX IF NOT EXISTS quota_day_day ON quota_day (day);

-- Today's rows are updated many times a second. Free room in the page keeps these updates out of the indexes.
ALTER TABLE quota_day SET (fillfactor = 50);
