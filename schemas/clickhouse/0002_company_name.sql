-- Names of companies as they are searched for: an index that proposes, of which the state in taxpayer is the truth. name is
-- folded (schemas/names/folding.ts), without legal form; words adds what abbreviations may stand for. A row is a claim about
-- one (name, RUC): a later edition's row says that it is so no longer (is_deleted) or that its texts are others.
-- standing: 0 active and habido, 1 active, 2 any other. enie: the words with Ñ. length: of name, in characters.
CREATE TABLE IF NOT EXISTS company_name (
  name String CODEC(ZSTD(1)),
  ruc UInt64 CODEC(LZ4),
  version UInt64 CODEC(LZ4),
  is_deleted UInt8,
  form LowCardinality(String),
  words String CODEC(ZSTD(1)),
  enie String CODEC(ZSTD(1)),
  standing UInt8,
  length UInt8,
  estado LowCardinality(String),
  condicion LowCardinality(String),
  ubigeo LowCardinality(String),
  INDEX words_index words TYPE text(tokenizer = splitByNonAlpha)
) ENGINE = ReplacingMergeTree(version)
ORDER BY (name, ruc)
SETTINGS index_granularity = 1024, fsync_after_insert = 1, fsync_part_directory = 1;

-- Every word of a company's name that there ever was, for the ends and the typing errors of words. It only grows.
CREATE TABLE IF NOT EXISTS company_word (
  word String CODEC(ZSTD(1))
) ENGINE = ReplacingMergeTree
ORDER BY word
SETTINGS index_granularity = 1024, fsync_after_insert = 1, fsync_part_directory = 1;
