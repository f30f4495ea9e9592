import { setTimeout as sleep } from 'node:timers/promises';
import pc from 'picocolors';
import { type Chain, type PublicationRow, padron } from './chain.ts';
import type { Lookup } from './customer.ts';
import type { Asked } from './questions.ts';
import { fieldsOf } from './record-fields.ts';
import type { PublishedDay } from './register/day.ts';

/** Prints numbered headings, and lines below them. */
export class Steps {
  readonly #startedAt = Date.now();
  readonly #checkStopped: () => void;
  #number = 0;

  /** @param checkStopped throws after Ctrl-C, so that no further step begins */
  constructor(checkStopped: () => void) {
    this.#checkStopped = checkStopped;
  }

  begin(title: string): void {
    this.#checkStopped();
    this.#number += 1;
    const elapsed = ((Date.now() - this.#startedAt) / 1000).toFixed(1);
    console.log(`\n${pc.bold(`${this.#number}. ${title}`)} ${pc.dim(`[${elapsed} s]`)}`);
  }

  readonly line = (text: string): void => console.log(`   ${text}`);
}

/** Returns a function that takes the progress lines of `padron` and prints a line for each edition that is served. */
export function reportServed(steps: Steps): (line: string) => void {
  const startedAt = Date.now();
  return (line) => {
    const [, register, edition] = /^(\w+): publication \d+: publicada, (edition \d+) .*notified/.exec(line) ?? [];
    if (register === undefined) return;
    const seconds = ((Date.now() - startedAt) / 1000).toFixed(1);
    steps.line(pc.dim(`${register.padEnd(32)} ${edition} is served and notified after ${seconds} s`));
  };
}

export function printPublications(steps: Steps, rows: readonly PublicationRow[], day: PublishedDay): void {
  for (const { register, fecha_dato, state, state_reason, rows: count, rejected, duplicates } of rows) {
    const kilobytes = ((day.files.find((file) => file.register === register)?.bytes ?? 0) / 1024).toFixed(0);
    const found = `${count?.toLocaleString('en')} rows, ${rejected} rejected, ${duplicates} repeated (${kilobytes} kB)`;
    const stopped = state === 'publicada' ? '' : `; ${pc.red(`${state}: ${state_reason}`)}`;
    steps.line(`${register.padEnd(32)} data of ${fecha_dato}: ${found}${stopped}`);
  }
}

interface EditionRow {
  register: string;
  number: number;
  fecha_dato: string;
  counts: Record<string, unknown>;
}

/** Prints what the second edition of each register changed. */
export async function printChanges(steps: Steps, chain: Chain): Promise<void> {
  const editions = await padron<EditionRow[]>(['editions', 'list'], chain.environment);
  for (const { register, number, fecha_dato, counts } of editions.filter((edition) => edition.number > 1)) {
    const { rows, inserted, updated, deleted } = counts;
    const kinds = `${inserted ?? 0} new, ${updated ?? 0} changed, ${deleted ?? 0} gone`;
    steps.line(
      `${register.padEnd(32)} edition ${number}, data of ${fecha_dato}: ${kinds}; ${Number(rows).toLocaleString('en')} rows`,
    );
  }
}

/** Prints each delivery: what it says, whether its signature is valid, and what a look-up showed on its arrival. */
export function printDeliveries(steps: Steps, chain: Chain): void {
  for (const { evento, ruc, deliveryId, verified, sawNewState } of chain.received) {
    const { body } = chain.receiver.notices.find((one) => one.deliveryId === deliveryId)!;
    const { datos } = body as { datos: { antes: unknown; despues: unknown } };
    const marks = [
      verified ? pc.green('signature valid') : pc.red('SIGNATURE NOT VALID'),
      sawNewState ? pc.green('look-up shows it') : pc.red('LOOK-UP SHOWS THE OLD STATE'),
    ];
    steps.line(`${evento.padEnd(32)} ${ruc}  ${marks.join(', ')}`);
    steps.line(pc.dim(`  ${datos.antes} → ${datos.despues}`));
  }
}

export function printAsked(steps: Steps, asked: readonly Asked[]): void {
  for (const { about, request, answer, isExpected } of asked) {
    steps.line(`${about.padEnd(22)} ${request}`);
    steps.line(`${' '.repeat(22)} ${isExpected ? pc.green(answer) : pc.red(answer)}`);
  }
}

/** Verifies each register's state and history against the archive. @throws Error that lists the differences */
export async function printVerification(steps: Steps, chain: Chain): Promise<void> {
  const reports = await padron<{ register: string; edition: number; rows: number }[]>(['verify'], chain.environment);
  for (const { register, edition, rows } of reports) {
    steps.line(`${register.padEnd(32)} edition ${edition}: ${rows.toLocaleString('en')} rows, ${pc.green('equal')}`);
  }
}

/** Prints every field of the record, with its register and the date of that register's data. */
export function printLookup(steps: Steps, lookup: Lookup): void {
  if (lookup.status !== 200) {
    steps.line(pc.red(`${lookup.status} ${lookup.body.detail}`));
    return;
  }
  for (const { field, value, source, date } of fieldsOf(lookup)) {
    const from = date === null ? source : `${source}, ${date}`;
    steps.line(`${field.padEnd(22)} ${String(value).padEnd(56)} ${pc.dim(from)}`);
  }
}

/** Calls `holds` every 100 ms until it is true. Resolves to false when that takes longer than timeoutMs. */
export async function waitUntil(holds: () => boolean | Promise<boolean>, timeoutMs: number): Promise<boolean> {
  const deadline = Date.now() + timeoutMs;
  while (!(await holds())) {
    if (Date.now() > deadline) return false;
    await sleep(100);
  }
  return true;
}
