import avro from 'avsc';
import { type ChangeFile, decodeRecords, type EditionFacts } from '../../changes/change-file.ts';
import type { ContainerFile, ContainerWriter } from '../../changes/container-writer.ts';
import { avroType, type ChangeRecord } from '../../changes/record.ts';
import { overlaySchema } from '../../changes/schema.ts';
import { beginChanges, beginOverlay } from '../change-writer.ts';
import { keyKindOf, rowsByKindOf, Tally } from '../counts.ts';
import type { ConflictList, RejectList } from '../listings.ts';
import type { OverlayEntry } from '../overlay-file.ts';
import { editionFileName, sweepWorkFiles } from '../work-files.ts';
import { type Cells, finishState, type OverlayRow, type SmallChange, type SmallState } from './state.ts';

interface MadeEdition {
  changes: readonly SmallChange[];
  overlay: readonly OverlayRow[];
  /** Rows of the new state. */
  rows: ReadonlyMap<string, Cells>;
  kept: number;
  keptCells: number;
  /** For each column, whether a difference in it counts as a change. Without this field, it does in every column. */
  compared?: readonly boolean[];
}

/**
 * Writes an edition's files, then its state. Equal input gives equal bytes. The change file comes first, because the
 * names of later files contain its hash. The state comes last: if the process dies before, a repeat writes everything.
 */
export function writeEdition(
  { workDir, outputDir }: { workDir: string; outputDir: string },
  facts: EditionFacts,
  head: SmallState | null,
  made: MadeEdition,
  list: RejectList | ConflictList,
) {
  const { register, edition, parserVersion, columns } = facts;
  const { rows } = made;
  const changeFile = writeChanges(outputDir, facts, made.changes);
  const overlayFile = writeOverlay(outputDir, facts, made.overlay);
  const listing = list.write(outputDir, facts, changeFile.sha256);
  const state = { edition, changeFileSha256: changeFile.sha256, parserVersion, columns, rows };
  finishState(workDir, register, state, facts.baseSha256);
  sweepWorkFiles(outputDir, register, null);
  const emptyByColumn = emptyCells(columns, rows);
  return {
    tally: tallyOf(facts, head, made),
    written: { changeFile, overlayFile, stateRows: rows.size, emptyByColumn },
    listing,
  };
}

function writeChanges(folder: string, facts: EditionFacts, changes: readonly SmallChange[]): ContainerFile {
  const type = avroType(facts.register);
  const { edition, detectedAt: detected_at, corrects } = facts;
  const writer = beginChanges(folder, facts, 'changes');
  return finished(writer, facts, 'changes', () => {
    for (const [seq, { op, key: ruc, before, after, line }] of changes.entries()) {
      const rows = { before: named(facts, before), after: named(facts, after) };
      writer.append(type.toBuffer({ edition, op, seq, ruc, ...rows, line, detected_at, corrects }));
    }
  });
}

/** Returns null when the overlay has no rows, which means that the state equals the publication. */
function writeOverlay(folder: string, facts: EditionFacts, overlay: readonly OverlayRow[]): ContainerFile | null {
  if (overlay.length === 0) return null;
  const type = avro.Type.forSchema(overlaySchema(facts.register) as avro.Schema);
  const writer = beginOverlay(folder, facts);
  return finished(writer, facts, 'overlay', () => {
    for (const { key: ruc, reason, line, row } of overlay) {
      writer.append(type.toBuffer({ ruc, reason, line, row: named(facts, row) }));
    }
  });
}

function finished(writer: ContainerWriter, facts: EditionFacts, kind: string, write: () => void): ContainerFile {
  try {
    write();
    return writer.finish((sha256) => editionFileName(facts, kind, sha256, 'avro'));
  } finally {
    writer.discard();
  }
}

function named({ columns }: EditionFacts, cells: Cells | null): Record<string, string> | null {
  return cells && Object.fromEntries(columns.map((name, column) => [name, cells[column]!]));
}

function tallyOf(facts: EditionFacts, head: SmallState | null, made: MadeEdition): Tally {
  const { changes, compared, kept, keptCells } = made;
  const tally = new Tally(facts.columns, facts.isFull ? null : rowsByKindOf(head!.rows.keys()));
  Object.assign(tally, { kept, keptCells });
  for (const { op, key, before, after } of changes) {
    const differs = (column: number) => compared?.[column] !== false && before?.[column] !== after?.[column];
    const columns = op === 'u' ? facts.columns : [];
    const changed = columns.reduce((bits, _, column) => (differs(column) ? bits | (1 << column) : bits), 0);
    tally.count(keyKindOf(key), op, changed);
  }
  return tally;
}

function emptyCells(columns: readonly string[], rows: ReadonlyMap<string, Cells>): Record<string, number> {
  const counts = columns.map(() => 0);
  for (const cells of rows.values()) {
    for (const [column, cell] of cells.entries()) if (cell === '') counts[column]! += 1;
  }
  return Object.fromEntries(columns.map((name, column) => [name, counts[column]!]));
}

export function withChanges(base: ReadonlyMap<string, Cells>, changes: readonly SmallChange[]): Map<string, Cells> {
  const rows = new Map(base);
  for (const { key, after } of changes) after === null ? rows.delete(key) : rows.set(key, after);
  return rows;
}

/** Reads all changes of a change file. Cells are in the order of the file's own columns. */
export async function changesIn(file: ChangeFile): Promise<SmallChange[]> {
  const { columns } = file.header;
  const cells = (row: ChangeRecord['before']) => row && columns.map((name) => row[name] ?? '');
  const changes: SmallChange[] = [];
  for await (const records of file.decodedBlocks<ChangeRecord>()) {
    for (const { op, ruc, before, after, line } of records) {
      changes.push({ op, key: ruc, before: cells(before), after: cells(after), line });
    }
  }
  return changes;
}

/**
 * Reads an overlay's entries. Their rows have the overlay's own columns, which may be older than today's. There are no
 * entries when `path` is null.
 */
export async function readOverlay(path: string | null): Promise<OverlayEntry[]> {
  const entries: OverlayEntry[] = [];
  if (path !== null) for await (const entry of decodeRecords<OverlayEntry>(path)) entries.push(entry);
  return entries;
}
