-- Look-ups are charged directly in quota_month and account_quota. No process of this release leases blocks of units.

-- Rows of quota_month are updated many times a second. Free room in the page keeps these updates out of the index.
ALTER TABLE quota_month SET (fillfactor = 50);

-- Adds to the totals what leases that lapsed before the given time have spent, and deletes these leases. It is one
-- statement, so each lease is added once, whoever dies. It locks the balances first, as every charge and every process of
-- the last release does, so it cannot deadlock with them.
CREATE OR REPLACE FUNCTION add_up_quota_leases(lapsed_before timestamptz) RETURNS void LANGUAGE sql AS $$
  WITH held AS (
    SELECT account_id FROM account_quota
    WHERE account_id IN (SELECT account_id FROM quota_lease WHERE expires_at < lapsed_before)
    ORDER BY account_id FOR UPDATE),
  gone AS (
    DELETE FROM quota_lease l USING held WHERE l.account_id = held.account_id AND l.expires_at < lapsed_before
    RETURNING l.account_id, l.month, l.purse, l.spent + l.settled AS units),
  months AS (
    INSERT INTO quota_month (account_id, month, used)
    SELECT account_id, month, sum(units) FROM gone WHERE purse = 'mes' GROUP BY account_id, month
    ON CONFLICT (account_id, month) DO UPDATE SET used = quota_month.used + EXCLUDED.used)
  UPDATE account_quota q SET prepaid = q.prepaid - spent.units
  FROM (SELECT account_id, sum(units) AS units FROM gone WHERE purse = 'prepago' GROUP BY account_id) spent
  WHERE q.account_id = spent.account_id;
$$;

-- All leases are settled now, also those in use. A process of the last release that still runs cannot report its lease
-- any more: until it leases again, at most 60 s later, its charges are lost, in the customers' favour. What it spends of
-- later leases is added up by the API ten minutes after they lapse. Until then this release does not count these units,
-- so an account may get them twice. The table stays for such processes, and for a return to the last release. The next
-- release settles what is left in the same way, and drops the table and the function.
SELECT add_up_quota_leases('infinity');
