-- What the user of DATABASE_URL needs, where `padron migrate` has a user of its own (MIGRATION_DATABASE_URL). Run it in
-- the database as that second user, before the first migration. It can be repeated. The running user is `padron_app`
-- here; make it first:  CREATE ROLE padron_app LOGIN PASSWORD '…';
-- The running user owns nothing, so it can neither change nor drop a table.

GRANT USAGE ON SCHEMA public TO padron_app;

-- What is there already, and what later migrations of this user make.
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO padron_app;
GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA public TO padron_app;
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA public TO padron_app;
ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO padron_app;
ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT USAGE, SELECT ON SEQUENCES TO padron_app;
ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT EXECUTE ON FUNCTIONS TO padron_app;
