import pc from 'picocolors';
import type { Chain, PublicationRow } from './chain.ts';
import type { Lookup } from './customer.ts';
import { padron } from './operator.ts';
import type { WrittenDay } from './two-days.ts';

/** Numbered headings with what happens below them. */
export class Steps {
  readonly #startedAt = Date.now();
  #number = 0;

  begin(title: string): void {
    this.#number += 1;
    const elapsed = ((Date.now() - this.#startedAt) / 1000).toFixed(1);
    console.log(`\n${pc.bold(`${this.#number}. ${title}`)} ${pc.dim(`[${elapsed} s]`)}`);
  }

  readonly line = (text: string): void => console.log(`   ${text}`);
}

export function printPublication(steps: Steps, row: PublicationRow, written: WrittenDay): void {
  const size = `${(written.zipBytes / 1024).toFixed(0)} kB zip, ${(written.textBytes / 1024).toFixed(0)} kB text`;
  steps.line(
    `publication ${row.id} of ${row.fecha_dato}: ${row.state}; ${row.rows.toLocaleString('en')} rows (${size})`,
  );
  steps.line(`rejected lines ${row.rejected}, duplicates ${row.duplicates}`);
}

interface EditionRow {
  number: number;
  fecha_dato: string;
  changes: number;
  counts: Record<string, unknown>;
}

export async function printChanges(steps: Steps, chain: Chain): Promise<void> {
  const editions = await padron<EditionRow[]>(['editions', 'list'], chain.environment);
  for (const { number, fecha_dato, changes, counts } of editions.sort((one, other) => one.number - other.number)) {
    const kinds = ['baseline', 'inserted', 'updated', 'deleted'].map((kind) => `${kind} ${String(counts[kind] ?? 0)}`);
    steps.line(`edition ${number} (${fecha_dato}): ${changes} changes: ${kinds.join(', ')}`);
  }
}

export function printLookup(steps: Steps, { status, body }: Lookup, ruc: string): void {
  const { nombre, estado, condicion } = body.data ?? {};
  if (status !== 200) steps.line(`look-up of ${ruc}: ${status} ${body.detail}`);
  else steps.line(`look-up of ${ruc} as of ${body.meta?.fecha_dato}: ${nombre}, ${estado}, ${condicion}`);
}
