import pc from 'picocolors';

/** Two columns for a terminal. */
export function addressTable(rows: readonly (readonly [string, string | undefined])[]): string {
  const present = rows.filter((row): row is [string, string] => row[1] !== undefined && row[1] !== '');
  const width = Math.max(...present.map(([name]) => name.length));
  return present.map(([name, value]) => `  ${pc.bold(name.padEnd(width))}  ${value}`).join('\n');
}
