-- A partition per month instead of per day. A statement about a webhook reads every partition, because a delivery of
-- any day may be held, and PostgreSQL plans and locks partition by partition: with 13 months of days, a GET took 40 ms
-- and a pause 420 ms.
--
-- Partitions of single days that an earlier release made stay, and retention drops them when they are 13 months old.
-- The last release may run beside this function: it calls it by the same name, and its retention sees only tables whose
-- names end with eight digits.

-- The partitions of event, delivery or attempt, each with its first day and the day after its last.
CREATE OR REPLACE FUNCTION event_partitions(parent text)
RETURNS TABLE (partition_name text, first_day date, end_day date) LANGUAGE sql STABLE SET datestyle = 'ISO' AS $$
  SELECT c.relname::text, bounds[1]::date, bounds[2]::date
  FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
  CROSS JOIN regexp_match(pg_get_expr(c.relpartbound, c.oid), $bounds$FROM \('(.+)'\) TO \('(.+)'\)$bounds$) AS bounds
  WHERE i.inhparent = to_regclass(parent)
$$;

-- Makes the partitions of the wanted day's month, or of what is left of the month between partitions that exist.
-- Repeatable; a caller that dies leaves all three tables or none.
CREATE OR REPLACE FUNCTION ensure_event_day(wanted date) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  parent text;
  partition_name text;
  month date := date_trunc('month', wanted::timestamp);
  first date;
  past date;
BEGIN
  FOREACH parent IN ARRAY ARRAY['event', 'delivery', 'attempt'] LOOP
    CONTINUE WHEN EXISTS (SELECT FROM event_partitions(parent) p WHERE p.first_day <= wanted AND wanted < p.end_day);
    -- Two callers at once: the second waits here and then finds the partition.
    PERFORM pg_advisory_xact_lock(hashtext('ensure_event_day'));
    CONTINUE WHEN EXISTS (SELECT FROM event_partitions(parent) p WHERE p.first_day <= wanted AND wanted < p.end_day);
    SELECT greatest(month, max(p.end_day) FILTER (WHERE p.end_day <= wanted)),
      least((month + interval '1 month')::date, min(p.first_day) FILTER (WHERE p.first_day > wanted))
    INTO first, past FROM event_partitions(parent) p;
    partition_name := parent || '_' || to_char(first, 'YYYY_MM_DD');
    -- A vacuum is due after a day's share of a month. PostgreSQL's default of a fifth is six days, and until then every
    -- claim would read the index entries that these days' deliveries left.
    EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING ALL) WITH (autovacuum_vacuum_scale_factor = 0.03, '
      'autovacuum_analyze_scale_factor = 0.03)', partition_name, parent);
    -- ATTACH lets reads and writes go on, which CREATE TABLE … PARTITION OF would not (0015_event_days.sql).
    EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)',
      parent, partition_name, first, past);
  END LOOP;
END $$;
