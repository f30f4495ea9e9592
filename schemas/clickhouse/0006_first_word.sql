-- Names that begin with a word that was typed, found by an index: without it a beginning that few names or none have is looked for in
-- every name (45 against 3 ms of CPU at 2.34 million names). Made of name by the engine, so whoever writes rows need not know of it.
ALTER TABLE ranked_name ADD COLUMN IF NOT EXISTS first_word String MATERIALIZED substringIndex(name, ' ', 1) CODEC(LZ4);
ALTER TABLE ranked_name ADD INDEX IF NOT EXISTS first_word_index first_word TYPE text(tokenizer = splitByNonAlpha);

-- Of rows that are there already, in the background: until then they are read without the index, slower and as rightly.
ALTER TABLE ranked_name MATERIALIZE COLUMN first_word;
ALTER TABLE ranked_name MATERIALIZE INDEX first_word_index;
