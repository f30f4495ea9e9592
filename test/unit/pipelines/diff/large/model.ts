import type { OverlayReason } from '../../../../../pipelines/changes/schema.ts';
import { blankControlBytes, problemOfLine } from '../../../../../pipelines/diff/large/scan.ts';
import type { Conflict } from '../../../../../pipelines/diff/listings.ts';
import { keyAt, noKey, rucOfKey } from '../../../../../pipelines/registers/ruc-key.ts';
import { decodeWindows1252 } from '../../../../../pipelines/registers/windows-1252.ts';
import { padronReducido } from '../../../../../schemas/registers.ts';

/** Makes editions in the simplest way, from maps of decoded text. The engine's editions must equal them. */
export type Row = Record<string, string>;
export type State = ReadonlyMap<string, Row>;

export interface ModelChange {
  op: 'r' | 'c' | 'u' | 'd';
  ruc: string;
  before: Row | null;
  after: Row | null;
  line: number | null;
}

export interface ModelOverlay {
  ruc: string;
  reason: OverlayReason;
  line: number | null;
  row: Row | null;
}

export interface ModelResult {
  state: Map<string, Row>;
  changes: ModelChange[];
  overlay: ModelOverlay[];
  rejected: { line: number; reason: string }[];
  kept: number;
}

export interface ModelCorrection extends Omit<ModelResult, 'rejected' | 'kept'> {
  conflicts: Omit<Conflict, 'edition'>[];
}

const names = padronReducido.columns.map(({ name }) => name);
const keepsPrevious = new Set(['nombre', 'estado', 'condicion']);

export function rowOf(line: Uint8Array): Row {
  const cells = decodeWindows1252(line, 0, line.length).split('|');
  return Object.fromEntries(names.map((name, column) => [name, cells[column + 1]!]));
}

interface Text {
  last: Map<string, { row: Row; line: number }>;
  bad: Set<string>;
  rejected: { line: number; reason: string }[];
}

/** `lines` are the publication's data lines without line ends. */
function read(lines: readonly Uint8Array[]): Text {
  const text: Text = { last: new Map(), bad: new Set(), rejected: [] };
  for (const [index, raw] of lines.entries()) {
    const line = index + 2;
    const bytes = Uint8Array.from(raw);
    const reason = problemOfLine(bytes, 0, bytes.length, names.length + 1);
    if (reason !== null) {
      text.rejected.push({ line, reason });
      const key = keyAt(bytes, 0, bytes.length);
      if (key !== noKey) text.bad.add(rucOfKey(key));
      continue;
    }
    if (bytes.some((byte) => byte < 32)) text.rejected.push({ line, reason: 'control_byte' });
    blankControlBytes(bytes, 0, bytes.length);
    const ruc = decodeWindows1252(bytes, 0, 11);
    if (text.last.has(ruc)) text.rejected.push({ line, reason: 'duplicate' });
    text.last.set(ruc, { row: rowOf(bytes), line });
  }
  return text;
}

/** The new row, with the old row's cells in columns that must not become empty. */
function merge(before: Row, found: Row): { after: Row; merged: boolean } {
  const kept = names.filter((name) => keepsPrevious.has(name) && found[name] === '' && before[name] !== '');
  return {
    after: { ...found, ...Object.fromEntries(kept.map((name) => [name, before[name]!])) },
    merged: kept.length > 0,
  };
}

const differs = (one: Row, other: Row, columns: readonly string[] = names) =>
  columns.some((name) => one[name] !== other[name]);
const ordered = (...lists: Iterable<string>[]) => [...new Set(lists.flatMap((list) => [...list]))].sort();

/** `base` is null for a first edition. */
export function compareInModel(base: State | null, lines: readonly Uint8Array[]): ModelResult {
  const { last, bad, rejected } = read(lines);
  const result: ModelResult = { state: new Map(base ?? []), changes: [], overlay: [], rejected, kept: 0 };
  for (const ruc of ordered(last.keys(), base?.keys() ?? [])) {
    const before = base?.get(ruc);
    const found = last.get(ruc);
    if (found === undefined) end(result, ruc, before!, bad.has(ruc));
    else if (before === undefined) set(result, base === null ? 'r' : 'c', ruc, null, found.row, found.line);
    else {
      const { after, merged } = merge(before, found.row);
      if (merged) result.overlay.push({ ruc, reason: 'empty_cell', line: found.line, row: after });
      if (differs(before, after)) set(result, 'u', ruc, before, after, found.line);
    }
  }
  return result;
}

function set(
  result: Pick<ModelResult, 'state' | 'changes'>,
  op: ModelChange['op'],
  ruc: string,
  before: Row | null,
  after: Row | null,
  line: number | null,
): void {
  result.changes.push({ op, ruc, before, after, line });
  if (after === null) result.state.delete(ruc);
  else result.state.set(ruc, after);
}

function end(result: ModelResult, ruc: string, before: Row, isBad: boolean): void {
  if (isBad) {
    result.kept += 1;
    result.overlay.push({ ruc, reason: 'bad_line', line: null, row: before });
  } else set(result, 'd', ruc, before, null, null);
}

/** `known` are the head's columns. `previous` is the head's publication as today's parser reads it. */
export function rebaselineInModel(
  base: State,
  previous: readonly Uint8Array[],
  overlay: readonly ModelOverlay[],
  known: readonly string[],
  lines: readonly Uint8Array[],
): ModelResult {
  const published = read(previous).last;
  const entries = new Map(overlay.map((entry) => [entry.ruc, entry]));
  const rowBefore = (ruc: string) => entries.get(ruc)?.row ?? published.get(ruc)?.row ?? base.get(ruc)!;
  const { last, bad, rejected } = read(lines);
  const result: ModelResult = { state: new Map(base), changes: [], overlay: [], rejected, kept: 0 };
  for (const ruc of ordered(last.keys(), base.keys())) {
    const found = last.get(ruc);
    if (found === undefined) {
      end(result, ruc, rowBefore(ruc), bad.has(ruc));
      if (bad.has(ruc)) set(result, 'r', ruc, null, rowBefore(ruc), null);
    } else if (!base.has(ruc)) {
      const wasPublished = published.has(ruc) && entries.get(ruc)?.row !== null;
      set(result, wasPublished ? 'r' : 'c', ruc, null, found.row, found.line);
    } else {
      const before = rowBefore(ruc);
      const { after, merged } = merge(before, found.row);
      if (merged) result.overlay.push({ ruc, reason: 'empty_cell', line: found.line, row: after });
      // A row that today's parser does not find in the head's publication was never read twice by one parser.
      const isComparable = entries.has(ruc) || published.has(ruc);
      if (isComparable && differs(before, after, known)) set(result, 'u', ruc, before, after, found.line);
      else set(result, 'r', ruc, null, after, found.line);
    }
  }
  return result;
}

/** Undoes the changes of an edition. `overlay` is the head's. */
export function correctInModel(
  base: State,
  undone: readonly ModelChange[],
  overlay: readonly ModelOverlay[],
): ModelCorrection {
  const result: ModelCorrection = { state: new Map(base), changes: [], overlay: [], conflicts: [] };
  const rewritten = new Map<string, ModelOverlay>();
  for (const { ruc, before, after } of undone) {
    const current = base.get(ruc) ?? null;
    if (after === null && current !== null) result.conflicts.push({ ruc, reason: 'came_back' });
    else if (after !== null && current === null) result.conflicts.push({ ruc, reason: 'gone' });
    else if (after !== null && differs(current!, after)) result.conflicts.push({ ruc, reason: 'changed_again' });
    else {
      set(result, before === null ? 'd' : current === null ? 'c' : 'u', ruc, current, before, null);
      rewritten.set(ruc, { ruc, reason: 'correction', line: null, row: before });
    }
  }
  const carried = overlay.filter(({ ruc }) => !rewritten.has(ruc));
  result.overlay = [...carried, ...rewritten.values()].sort((one, other) => (one.ruc < other.ruc ? -1 : 1));
  return result;
}
