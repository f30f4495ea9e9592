-- Offset after the edition's record in its register's editions topic. Null: not written yet, or written by a release that
-- did not record it. What Kafka has beyond the highest of these was written after the catalogue that was restored.
ALTER TABLE edition ADD COLUMN IF NOT EXISTS stream_end bigint;
