-- Data-processing contracts with their history, monthly quota, prepaid balance, minute counts.

CREATE TABLE IF NOT EXISTS data_contract (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  account_id bigint NOT NULL REFERENCES account (id),
  reference text NOT NULL,
  from_day date NOT NULL,
  -- last day in force; null: open
  until_day date,
  -- ended at once, before its last day; the row stays
  ended_at timestamptz,
  created_at timestamptz NOT NULL DEFAULT now(),
  CHECK (until_day IS NULL OR until_day >= from_day)
);
CREATE INDEX IF NOT EXISTS data_contract_account ON data_contract (account_id, id);

-- The account's own columns held one contract and no history.
DO $$
BEGIN
  IF EXISTS (SELECT FROM information_schema.columns
             WHERE table_schema = current_schema() AND table_name = 'account' AND column_name = 'contract_reference') THEN
    INSERT INTO data_contract (account_id, reference, from_day, until_day)
      SELECT id, contract_reference, coalesce(contract_from, created_at::date), contract_until FROM account
      WHERE contract_reference IS NOT NULL
        AND (contract_until IS NULL OR contract_until >= coalesce(contract_from, created_at::date));
    ALTER TABLE account DROP COLUMN contract_reference, DROP COLUMN contract_from, DROP COLUMN contract_until;
  END IF;
END $$;

-- One row per account: locked by whoever hands out units, so that two processes never hand out the same ones.
-- prepaid: units bought, less those spent by leases that are gone from quota_lease.
CREATE TABLE IF NOT EXISTS account_quota (
  account_id bigint PRIMARY KEY REFERENCES account (id),
  prepaid bigint NOT NULL DEFAULT 0
);

-- Every purchase of units. The reference makes a repeated order harmless.
CREATE TABLE IF NOT EXISTS prepaid_credit (
  account_id bigint NOT NULL REFERENCES account (id),
  reference text NOT NULL,
  units bigint NOT NULL CHECK (units > 0),
  at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (account_id, reference)
);

-- month: its first day in Lima. used: units spent by leases that are gone from quota_lease.
CREATE TABLE IF NOT EXISTS quota_month (
  account_id bigint NOT NULL REFERENCES account (id),
  month date NOT NULL,
  used bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (account_id, month)
);

-- A block of units that one API process may spend without asking again. granted and spent are the process's own absolute
-- counts, so that a repeated write changes nothing; settled is added to inside other transactions. What is granted and not
-- spent belongs to the process until expires_at, then to everybody. Rows long expired are added up into the tables above.
CREATE TABLE IF NOT EXISTS quota_lease (
  id uuid PRIMARY KEY,
  account_id bigint NOT NULL REFERENCES account (id),
  month date NOT NULL,
  purse text NOT NULL CHECK (purse IN ('mes', 'prepago')),
  granted bigint NOT NULL,
  spent bigint NOT NULL DEFAULT 0,
  settled bigint NOT NULL DEFAULT 0,
  expires_at timestamptz NOT NULL
);
CREATE INDEX IF NOT EXISTS quota_lease_account ON quota_lease (account_id);

-- Requests handed out per account (or address) and minute; columns as rate-limiter-flexible names them. Worth nothing after a crash.
CREATE UNLOGGED TABLE IF NOT EXISTS minute_use (
  key varchar(255) PRIMARY KEY,
  points integer NOT NULL DEFAULT 0,
  -- milliseconds since 1970
  expire bigint
);
CREATE INDEX IF NOT EXISTS minute_use_expire ON minute_use (expire);
