-- Packed state: one read gives all registers of a RUC. row is a JSON array of the register's columns in schema order.
-- is_deleted is a plain column, never the engine's own, and nothing is cleaned up: a replay would bring the dead back.
-- Compact parts: a look-up reads one place per RUC, not one per column (4.8 against 6.7 ms of CPU for 32 RUCs; 11 % larger).
-- fsync: an offset in Kafka is committed once an insert is acknowledged, so by then the part must be on the disk.
CREATE TABLE IF NOT EXISTS taxpayer (
  ruc UInt64 CODEC(Delta(8), LZ4),
  register UInt8,
  version UInt64 CODEC(Delta(8), LZ4),
  is_deleted UInt8,
  row String CODEC(ZSTD(1))
) ENGINE = ReplacingMergeTree(version)
ORDER BY (ruc, register)
SETTINGS index_granularity = 128, min_compress_block_size = 8192, max_compress_block_size = 16384,
  min_bytes_for_wide_part = 1000000000000, fsync_after_insert = 1, fsync_part_directory = 1;

-- Every change with before and after, but no baseline rows. One change of one edition is one row: repeats replace it.
CREATE TABLE IF NOT EXISTS register_change (
  ruc UInt64 CODEC(Delta(8), LZ4),
  register UInt8,
  edition UInt64 CODEC(Delta(8), LZ4),
  op Enum8('c' = 1, 'u' = 2, 'd' = 3, 'r' = 4),
  before Nullable(String) CODEC(ZSTD(1)),
  after Nullable(String) CODEC(ZSTD(1)),
  detected_at DateTime64(3, 'UTC'),
  corrects Nullable(UInt64)
) ENGINE = ReplacingMergeTree
ORDER BY (ruc, register, edition)
SETTINGS index_granularity = 512, fsync_after_insert = 1, fsync_part_directory = 1;

-- For people who query: the daily register's current rows with named columns.
CREATE VIEW IF NOT EXISTS padron_reducido_current AS
SELECT
  ruc, version,
  JSONExtract(row, 'Array(String)') AS cells,
  cells[1] AS nombre, cells[2] AS estado, cells[3] AS condicion, cells[4] AS ubigeo, cells[5] AS tipo_via,
  cells[6] AS nombre_via, cells[7] AS tipo_zona, cells[8] AS nombre_zona, cells[9] AS numero, cells[10] AS interior,
  cells[11] AS lote, cells[12] AS dpto, cells[13] AS manzana, cells[14] AS kilometro
FROM (SELECT ruc, version, is_deleted, row FROM taxpayer WHERE register = 1 ORDER BY ruc, version DESC LIMIT 1 BY ruc)
WHERE is_deleted = 0;
