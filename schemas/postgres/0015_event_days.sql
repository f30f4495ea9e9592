-- A new day is made beside the traffic: CREATE TABLE … PARTITION OF locks each parent against everything, and holding one while
-- waiting for the next it was a deadlock with whoever uses two of them (a claim, a delivery sent again). ATTACH PARTITION lets reads
-- and writes go on. The columns, defaults, checks and indexes are the parent's, so attaching builds and scans nothing.
CREATE OR REPLACE FUNCTION ensure_event_day(wanted date) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  parent text;
  partition_name text;
BEGIN
  FOREACH parent IN ARRAY ARRAY['event', 'delivery', 'attempt'] LOOP
    partition_name := parent || '_' || to_char(wanted, 'YYYYMMDD');
    CONTINUE WHEN to_regclass(partition_name) IS NOT NULL;
    -- Two callers at once: the second waits here and then finds the partition.
    PERFORM pg_advisory_xact_lock(hashtext('ensure_event_day'));
    -- Asked of the table and not by to_regclass, which may answer what it answered before the wait.
    CONTINUE WHEN EXISTS (SELECT FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
      WHERE i.inhparent = to_regclass(parent) AND c.relname = partition_name);
    EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING ALL)', partition_name, parent);
    EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)',
      parent, partition_name, wanted, wanted + 1);
  END LOOP;
END $$;
