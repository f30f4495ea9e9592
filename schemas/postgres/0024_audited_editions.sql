-- An answer with all changes of an edition has one audit row, which names the edition in place of a RUC: the edition's
-- change file, which never changes, says whose rows were in it.
ALTER TABLE natural_person_audit ADD COLUMN IF NOT EXISTS register text;
ALTER TABLE natural_person_audit ADD COLUMN IF NOT EXISTS edition bigint;
ALTER TABLE natural_person_audit ALTER COLUMN ruc_hmac DROP NOT NULL;
