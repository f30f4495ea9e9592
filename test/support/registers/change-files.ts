import { createHash } from 'node:crypto';
import { ContainerWriter } from '../../../pipelines/changes/container-writer.ts';
import { avroType, type Change, schemaText } from '../../../pipelines/changes/record.ts';
import type { EditionFile } from '../../../pipelines/replay/types.ts';
import { type RegisterName, registers } from '../../../schemas/registers.ts';

/** Keys and cells in the order of the columns. */
export type State = Map<string, readonly string[]>;

/** The changes from one state to the next in the order of a change file. A full edition has every row. */
export function changesBetween(
  register: RegisterName,
  before: State,
  after: State,
  edition: number,
  full = edition === 1,
): Change[] {
  const { columns } = registers[register];
  const rowOf = (cells: readonly string[] | undefined) =>
    cells === undefined ? null : Object.fromEntries(columns.map(({ name }, at) => [name, cells[at]!]));
  const keys = [...new Set([...before.keys(), ...after.keys()])].sort((one, other) =>
    Buffer.compare(Buffer.from(one), Buffer.from(other)),
  );
  const changes: Change[] = [];
  for (const key of keys) {
    const [old, now] = [before.get(key), after.get(key)];
    const same = old?.join('|') === now?.join('|');
    if (same && !full) continue;
    const op = now === undefined ? 'd' : old === undefined ? (edition === 1 ? 'r' : 'c') : same ? 'r' : 'u';
    changes.push({
      edition,
      op,
      seq: changes.length,
      ruc: key,
      before: op === 'u' || op === 'd' ? rowOf(old) : null,
      after: rowOf(now),
      line: now === undefined ? null : changes.length + 2,
      detectedAt: new Date(Date.UTC(2026, 10, 20 + edition)),
      corrects: null,
    });
  }
  return changes;
}

/** Writes a change file as the engines do. */
export function writeChanges(
  folder: string,
  register: RegisterName,
  edition: number,
  changes: readonly Change[],
): EditionFile {
  const metadata = {
    'padron.register': register,
    'padron.edition': String(edition),
    'padron.columns': registers[register].columns.map(({ name }) => name).join(),
  };
  const sync = createHash('md5').update(`${register} ${edition}`).digest();
  const attempt = `attempt-${register}-${edition}`;
  const writer = new ContainerWriter(folder, attempt, JSON.parse(schemaText(register)), metadata, sync);
  const type = avroType(register);
  for (const { detectedAt, ...change } of changes) {
    writer.append(type.toBuffer({ ...change, detected_at: detectedAt.getTime() }));
  }
  const { path, sha256 } = writer.finish((hash) => `${register}.${edition}.changes.${hash}.avro`);
  const baseline = changes.filter(({ op }) => op === 'r').length;
  return { edition, path, sha256, changes: changes.length, baseline };
}
