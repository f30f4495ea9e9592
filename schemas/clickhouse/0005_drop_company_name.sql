-- Nothing reads it since ranked_name took its place, and 0003 emptied it. A second run at the same time may stand before 0003, which
-- reads it: that one fails there, begins again and finds all of it done (deploy/runtime/migrate.ts).
DROP TABLE IF EXISTS company_name;
