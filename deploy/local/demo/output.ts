import pc from 'picocolors';
import type { Chain, PublicationRow } from './chain.ts';
import type { Lookup } from './customer.ts';
import { padron } from './operator.ts';
import { fieldsOf } from './record-fields.ts';
import type { PublishedDay } from './register/day.ts';

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

export function printPublications(steps: Steps, rows: readonly PublicationRow[], day: PublishedDay): void {
  for (const { id, register, fecha_dato, state, rows: count, rejected, duplicates } of rows) {
    const kilobytes = ((day.files.find((file) => file.register === register)?.bytes ?? 0) / 1024).toFixed(0);
    const found = `${count?.toLocaleString('en')} rows, ${rejected} rejected, ${duplicates} repeated (${kilobytes} kB)`;
    steps.line(`${register.padEnd(32)} publication ${id} of ${fecha_dato}: ${state}; ${found}`);
  }
}

interface EditionRow {
  register: string;
  number: number;
  fecha_dato: string;
  changes: number;
  counts: Record<string, unknown>;
}

/** What the second edition of each register changed. */
export async function printChanges(steps: Steps, chain: Chain): Promise<void> {
  const editions = await padron<EditionRow[]>(['editions', 'list'], chain.environment);
  for (const { register, number, fecha_dato, counts } of editions.filter((edition) => edition.number > 1)) {
    const kinds = ['inserted', 'updated', 'deleted'].map((kind) => `${kind} ${String(counts[kind] ?? 0)}`);
    steps.line(`${register.padEnd(32)} edition ${number} (${fecha_dato}): ${kinds.join(', ')}`);
  }
}

/** Proves each register's state and history from the archive. @throws Error with what differs, when something does */
export async function printVerification(steps: Steps, chain: Chain): Promise<void> {
  const reports = await padron<{ register: string; edition: number; rows: number }[]>(['verify'], chain.environment);
  for (const { register, edition, rows } of reports) {
    steps.line(`${register.padEnd(32)} edition ${edition}: ${rows.toLocaleString('en')} rows, ${pc.green('equal')}`);
  }
}

/** Every field of the record, with its register and the date of that register's data. */
export function printLookup(steps: Steps, lookup: Lookup, ruc: string): void {
  steps.line(`look-up of ${ruc}: ${lookup.status} ${lookup.body.detail ?? ''}`.trimEnd());
  if (lookup.status !== 200) return;
  for (const { field, value, source, date } of fieldsOf(lookup)) {
    const from = date === null ? source : `${source}, ${date}`;
    steps.line(`  ${field.padEnd(22)} ${String(value).padEnd(56)} ${pc.dim(from)}`);
  }
}
