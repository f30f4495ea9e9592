-- Searches read the names from memory (api/search/README.md), so nothing reads these indexes. To write them took more CPU
-- than the rows themselves: for 300,000 names 2.4 s instead of 1.4 s to insert, and 5.7 s instead of 1.1 s to merge.
-- An api process of an earlier release still searches beside this schema, but more slowly.
ALTER TABLE ranked_name DROP INDEX IF EXISTS words_index;
ALTER TABLE ranked_name DROP INDEX IF EXISTS first_word_index;
ALTER TABLE ranked_name DROP INDEX IF EXISTS letters_index;
