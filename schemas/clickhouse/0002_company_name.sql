-- Names of companies as they are searched for: an index that proposes, of which the state in taxpayer is the truth. name is
-- folded (schemas/names/folding.ts), without legal form; words adds what abbreviations may stand for. A row is a claim about
-- one (name, RUC): a later edition's row says that it is so no longer (is_deleted) or that its texts are others.
-- standing: 0 active and habido, 1 active, 2 any other. enie: the words with Ñ. length: of name, in characters.
-- A common word makes the search read a column of every company, so texts are LZ4 (half the CPU of ZSTD for 1.4 times the bytes),
-- parts are wide (compact ones are read granule by granule), and begin spares reading whole names.
CREATE TABLE IF NOT EXISTS company_name (
  name String CODEC(LZ4),
  begin FixedString(16) DEFAULT toFixedString(substring(name, 1, 16), 16) CODEC(LZ4),
  ruc UInt64 CODEC(LZ4),
  version UInt64 CODEC(LZ4),
  is_deleted UInt8,
  form LowCardinality(String),
  words String CODEC(LZ4),
  enie String CODEC(LZ4),
  standing UInt8,
  length UInt8,
  estado LowCardinality(String),
  condicion LowCardinality(String),
  ubigeo LowCardinality(String),
  INDEX words_index words TYPE text(tokenizer = splitByNonAlpha)
) ENGINE = ReplacingMergeTree(version)
ORDER BY (name, ruc)
SETTINGS index_granularity = 1024, min_bytes_for_wide_part = 1000000, fsync_after_insert = 1, fsync_part_directory = 1;

-- Every word of a company's name that there ever was, for the ends and the typing errors of words. It only grows.
CREATE TABLE IF NOT EXISTS company_word (
  word String CODEC(LZ4)
) ENGINE = ReplacingMergeTree
ORDER BY word
SETTINGS index_granularity = 1024, fsync_after_insert = 1, fsync_part_directory = 1;
