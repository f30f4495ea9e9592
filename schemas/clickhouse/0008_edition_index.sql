-- For each register, the highest version in every 1,024 rows. Without it, a question for the rows of an edition reads
-- two columns of all taxpayers: 4 s of CPU at 32 million rows, for each register that is published on a day. One column
-- of versions would not do, because registers count their editions apart and rows of all registers lie beside one
-- another. pipelines/stream/progress.ts asks with the same expressions. Rows that are there already get the index at
-- their next merge; until then they are read as before.
ALTER TABLE taxpayer ADD INDEX IF NOT EXISTS edition_index (
  if(register = 1, version, 0), if(register = 2, version, 0), if(register = 3, version, 0), if(register = 4, version, 0),
  if(register = 5, version, 0), if(register = 6, version, 0), if(register = 7, version, 0)
) TYPE minmax GRANULARITY 8;
