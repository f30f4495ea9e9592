-- The product runs with a user that owns nothing (deploy/postgres/running-user.sql), and still makes and drops partitions
-- while it runs. So these two functions work with the rights of the user that made them by a migration. Their search
-- path is fixed: otherwise the caller could put other tables in the place of ours.
CREATE OR REPLACE FUNCTION drop_event_partition(suffix text) RETURNS void LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
  -- The first day of the partition, with underscores if it is for a month, without if it is for a day.
  IF suffix !~ '^([0-9]{8}|[0-9]{4}_[0-9]{2}_[0-9]{2})$' THEN
    RAISE EXCEPTION 'a partition has no day';
  END IF;
  EXECUTE format('DROP TABLE %I, %I, %I', 'attempt_' || suffix, 'delivery_' || suffix, 'event_' || suffix);
END $$;

ALTER FUNCTION ensure_event_day(date) SECURITY DEFINER;

DO $$ BEGIN
  EXECUTE format('ALTER FUNCTION drop_event_partition(text) SET search_path = %I, pg_temp', current_schema());
  EXECUTE format('ALTER FUNCTION ensure_event_day(date) SET search_path = %I, pg_temp', current_schema());
END $$;

-- Everybody may call a new function, unless this is taken away. The owner may always.
REVOKE EXECUTE ON FUNCTION drop_event_partition(text), ensure_event_day(date) FROM PUBLIC;
