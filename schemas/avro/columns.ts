export interface AvroField {
  name: string;
  type: unknown;
  default?: unknown;
}

/**
 * Returns the list of row fields in a change schema. A change of this list changes `schema` itself. The type of a row
 * is defined at the field `before`.
 */
export function rowFields(schema: unknown): AvroField[] {
  const { fields } = schema as { fields: AvroField[] };
  const before = fields.find(({ name }) => name === 'before')?.type as [unknown, { fields: AvroField[] }] | undefined;
  return before?.[1].fields ?? [];
}

/**
 * Whether two lists of a register's columns have the same names up to the end of the shorter list. They must, because a
 * stored row has cells without names, and every release finds a cell by its position. So new columns are added at the
 * end only. A column that the source no longer has stays in the list, with empty cells.
 */
export function agree(one: readonly string[], other: readonly string[]): boolean {
  return one.every((name, place) => place >= other.length || other[place] === name);
}

/**
 * Adds the columns that the schema's row lacks. In earlier records these columns are empty. Returns false and adds
 * nothing if the schema has other columns, or more columns than `columns`.
 */
export function addColumns(schema: unknown, columns: readonly string[]): boolean {
  const fields = rowFields(schema);
  const known = fields.map(({ name }) => name);
  if (!agree(known, columns) || known.length > columns.length) return false;
  fields.push(...columns.slice(known.length).map((name) => ({ name, type: 'string', default: '' })));
  return true;
}
