import { checkDigit, checkRuc } from '../../../../../schemas/ruc.ts';
import type { PlainChange } from './harness.ts';

/** Compares two lists in the simplest way, as maps of cells. The engine must agree with it. */
export type ModelState = ReadonlyMap<string, string[]>;

export interface ModelOverlayRow {
  key: string;
  reason: string;
  line: number | null;
  row: string[] | null;
}

export interface ModelEdition {
  state: Map<string, string[]>;
  changes: PlainChange[];
  overlay: ModelOverlayRow[];
}

/** The good rows, and the RUCs that bad lines name. `lines` has no header; dates in it are ISO or ''. */
function readInModel(lines: readonly string[]) {
  const rows = new Map<string, { cells: string[]; line: number }>();
  const bad = new Set<string>();
  lines.forEach((text, index) => {
    const [ruc, ...cells] = text.replaceAll('\t', ' ').split('|');
    const last = cells.pop();
    if (checkRuc(ruc!).ok && cells.length === 3 && last === '') rows.set(ruc!, { cells, line: index + 2 });
    else if (/^(10|15|20)\d{9}$/.test(ruc!)) bad.add(ruc!.slice(0, 10) + checkDigit(ruc!.slice(0, 10)));
  });
  return { rows, bad };
}

export function compareInModel(base: ModelState | null, lines: readonly string[]): ModelEdition {
  const { rows, bad } = readInModel(lines);
  const state = new Map([...rows].map(([key, { cells }]) => [key, cells]));
  const overlay: ModelOverlayRow[] = [];
  for (const [key, row] of base ?? []) {
    if (rows.has(key) || !bad.has(key)) continue;
    state.set(key, row);
    overlay.push({ key, reason: 'bad_line', line: null, row });
  }
  const changes = changesInModel(base ?? new Map(), state).map((change) => {
    return { ...change, op: base === null ? 'r' : change.op, line: change.after && rows.get(change.key)!.line };
  });
  return { state, changes, overlay: overlay.sort(byKey) };
}

export function undoInModel(head: ModelEdition, undone: ModelEdition): ModelEdition & { conflicts: string[] } {
  const state = new Map(head.state);
  const overlay = new Map(head.overlay.map((row) => [row.key, row]));
  const conflicts: string[] = [];
  for (const { key, before, after } of undone.changes) {
    if (JSON.stringify(state.get(key) ?? null) !== JSON.stringify(after)) {
      conflicts.push(key);
      continue;
    }
    if (before === null) state.delete(key);
    else state.set(key, before);
    overlay.set(key, { key, reason: 'correction', line: null, row: before });
  }
  return { state, changes: changesInModel(head.state, state), overlay: [...overlay.values()].sort(byKey), conflicts };
}

function changesInModel(from: ModelState, to: ModelState): PlainChange[] {
  const keys = [...new Set([...from.keys(), ...to.keys()])].sort();
  return keys.flatMap((key) => {
    const [before, after] = [from.get(key) ?? null, to.get(key) ?? null];
    if (JSON.stringify(before) === JSON.stringify(after)) return [];
    return [{ op: before === null ? 'c' : after === null ? 'd' : 'u', key, before, after, line: null }];
  });
}

function byKey(one: { key: string }, other: { key: string }): number {
  return one.key < other.key ? -1 : 1;
}
