import { type Register, registerNames, registers } from '../registers.ts';
import { firstOtherKey, rucLength } from '../ruc.ts';

/**
 * Returns the SQL of one view per register, `<register>_current`, for people who query current rows by column names.
 * Each `padron migrate` makes the views again from the list of columns, so a new register or column needs no migration.
 */
export function currentViews(): string[] {
  return registerNames.map((name) => viewOf(registers[name]));
}

function viewOf(register: Register): string {
  const cells = register.columns.map(({ name }, index) => `cells[${index + 1}] AS ${name}`);
  return `CREATE OR REPLACE VIEW ${register.name}_current AS
SELECT
  ${[...keyColumns(register), 'version', `JSONExtract(row, 'Array(String)') AS cells`, ...cells].join(',\n  ')}
FROM (
  SELECT ruc, version, is_deleted, row FROM taxpayer
  WHERE register = ${register.code} ORDER BY ruc, version DESC LIMIT 1 BY ruc)
WHERE is_deleted = 0
COMMENT '${commentOf(register)}'`;
}

/**
 * Returns the columns that show a row's key. In the table `taxpayer`, the key is a number. A supplier's id that is not
 * eleven digits becomes a number by a hash (`stateKeyOf`), so the view shows NULL as the id. In Kafka, the record's key
 * is the id itself.
 */
function keyColumns({ key }: Register): string[] {
  if (key === 'ruc') return ['ruc'];
  const id = `if(ruc < ${firstOtherKey}, leftPad(toString(ruc), ${rucLength}, '0'), NULL) AS id`;
  return ['ruc AS state_key', id];
}

function commentOf({ key, title }: Register): string {
  const rows = `${title}: the rows that stand now. version: the edition that last changed the row.`;
  if (key === 'ruc') return rows;
  return (
    `${rows} id: what the supplier is named by, as text, where that is eleven digits, else NULL; ` +
    `state_key: the number under which the row stands, for other ids ${firstOtherKey} plus 48 bits of their SHA-256.`
  );
}
