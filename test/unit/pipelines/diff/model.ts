import { blankControlBytes, problemOfLine } from '../../../../pipelines/diff/row-line.ts';
import { keyAt, noKey, rucOfKey } from '../../../../pipelines/registers/ruc-key.ts';
import { decodeWindows1252 } from '../../../../pipelines/registers/windows-1252.ts';
import { padronReducido } from '../../../../schemas/registers.ts';

/** The comparison as one would write it for a thousand rows: maps of decoded text. The real one must agree with it. */
export type Row = Record<string, string>;
export type State = ReadonlyMap<string, Row>;

export interface ModelChange {
  op: 'r' | 'c' | 'u' | 'd';
  ruc: string;
  before: Row | null;
  after: Row | null;
  line: number | null;
}

export interface ModelResult {
  state: State;
  changes: ModelChange[];
  overlay: { ruc: string; reason: 'bad_line' | 'empty_cell'; line: number | null; row: Row }[];
  rejected: { line: number; reason: string }[];
  kept: number;
}

const names = padronReducido.columns.map(({ name }) => name);
const keepsPrevious = new Set(['nombre', 'estado', 'condicion']);

export function rowOf(line: Uint8Array): Row {
  const cells = decodeWindows1252(line, 0, line.length).split('|');
  return Object.fromEntries(names.map((name, column) => [name, cells[column + 1]!]));
}

/** `lines`: the data lines of the publication, without line ends. `base`: null for a first edition. */
export function compareInModel(base: State | null, lines: readonly Uint8Array[]): ModelResult {
  const last = new Map<string, { row: Row; line: number }>();
  const bad = new Set<string>();
  const rejected: ModelResult['rejected'] = [];
  for (const [index, raw] of lines.entries()) {
    const line = index + 2;
    const bytes = Uint8Array.from(raw);
    const reason = problemOfLine(bytes, 0, bytes.length, names.length + 1);
    if (reason !== null) {
      rejected.push({ line, reason });
      const key = keyAt(bytes, 0, bytes.length);
      if (key !== noKey) bad.add(rucOfKey(key));
      continue;
    }
    if (bytes.some((byte) => byte < 32)) rejected.push({ line, reason: 'control_byte' });
    blankControlBytes(bytes, 0, bytes.length);
    const ruc = decodeWindows1252(bytes, 0, 11);
    if (last.has(ruc)) rejected.push({ line, reason: 'duplicate' });
    last.set(ruc, { row: rowOf(bytes), line });
  }
  const state = new Map(base ?? []);
  const result: ModelResult = { state, changes: [], overlay: [], rejected, kept: 0 };
  for (const ruc of [...new Set([...last.keys(), ...(base?.keys() ?? [])])].sort()) {
    decide(ruc, base, last.get(ruc), bad.has(ruc), state, result);
  }
  return result;
}

function decide(
  ruc: string,
  base: State | null,
  found: { row: Row; line: number } | undefined,
  bad: boolean,
  state: Map<string, Row>,
  result: ModelResult,
): void {
  const before = base?.get(ruc);
  if (found === undefined) {
    if (bad) {
      result.kept += 1;
      result.overlay.push({ ruc, reason: 'bad_line', line: null, row: before! });
      return;
    }
    state.delete(ruc);
    result.changes.push({ op: 'd', ruc, before: before!, after: null, line: null });
    return;
  }
  const { line } = found;
  if (before === undefined) {
    state.set(ruc, found.row);
    result.changes.push({ op: base === null ? 'r' : 'c', ruc, before: null, after: found.row, line });
    return;
  }
  const after: Row = { ...found.row };
  let merged = false;
  for (const name of keepsPrevious) {
    if (after[name] !== '' || before[name] === '') continue;
    after[name] = before[name]!;
    merged = true;
  }
  if (merged) result.overlay.push({ ruc, reason: 'empty_cell', line, row: after });
  if (names.every((name) => before[name] === after[name])) return;
  state.set(ruc, after);
  result.changes.push({ op: 'u', ruc, before, after, line });
}
