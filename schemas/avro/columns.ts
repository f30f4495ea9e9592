export interface AvroField {
  name: string;
  type: unknown;
  default?: unknown;
}

/** Returns the row's fields in a schema of changes, which defines the row at its first use. It is the schema's own list. */
export function rowFields(schema: unknown): AvroField[] {
  const { fields } = schema as { fields: AvroField[] };
  const before = fields.find(({ name }) => name === 'before')?.type as [unknown, { fields: AvroField[] }] | undefined;
  return before?.[1].fields ?? [];
}

/**
 * Whether two lists of a register's columns are the same as far as both go. Rows of all releases are lists of cells without
 * names, which are read by position. So columns are only added at the end, and a column that its source drops stays, empty.
 */
export function agree(one: readonly string[], other: readonly string[]): boolean {
  return one.every((name, place) => place >= other.length || other[place] === name);
}

/**
 * Adds to a schema of changes the columns that its row does not have yet. They are empty in earlier records. Returns false when
 * the schema has other columns, or more.
 */
export function addColumns(schema: unknown, columns: readonly string[]): boolean {
  const fields = rowFields(schema);
  const known = fields.map(({ name }) => name);
  if (!agree(known, columns) || known.length > columns.length) return false;
  fields.push(...columns.slice(known.length).map((name) => ({ name, type: 'string', default: '' })));
  return true;
}
