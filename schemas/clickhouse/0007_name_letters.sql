-- letters: the letters of a name in a row, without connectors such as DE and LA, once for each way of writing it. Names with
-- a text in common are the same name (schemas/names/spans.ts). The consumers write it. The default is for rows that an earlier
-- release wrote or still writes: it has the usual spelling alone, so those names are found as before. A rebuild brings the rest.
ALTER TABLE ranked_name ADD COLUMN IF NOT EXISTS letters String
  DEFAULT replaceRegexpAll(name, '\\b(?:DE|DEL|LA|LAS|LOS|EL|EN) | ', '') CODEC(LZ4) AFTER words;
ALTER TABLE ranked_name ADD INDEX IF NOT EXISTS letters_index letters TYPE text(tokenizer = splitByNonAlpha);

-- For rows that are there already, in the background. Until then their letters are computed from name: slower, with equal results.
ALTER TABLE ranked_name MATERIALIZE INDEX letters_index;
