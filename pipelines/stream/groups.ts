/**
 * Consumer groups: one side effect each. A new name means reading every topic from its beginning again, so these are
 * as fixed as a table's name.
 */
export function materializeGroup(prefix: string): string {
  return `${prefix}padron.materialize`;
}
export function watchGroup(prefix: string): string {
  return `${prefix}padron.watch`;
}
