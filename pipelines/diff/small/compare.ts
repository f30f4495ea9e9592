import { mkdirSync } from 'node:fs';
import { registers } from '../../../schemas/registers.ts';
import type { SmallText } from '../../registers/module.ts';
import { RejectList } from '../listings.ts';
import { type CompareInput, type CompareLimits, type CompareResult, compareLimits, type Progress } from '../types.ts';
import { sweepWorkFiles } from '../work-files.ts';
import { countsOf } from './counts.ts';
import {
  differences,
  keepingRules,
  type NextState,
  nextState,
  readPrevious,
  readText,
  rebaseline,
} from './next-state.ts';
import { EditionOutputs } from './outputs.ts';
import { columnsOf, finishState, inTodaysColumns, openBase, requireSameParser, type SmallChange } from './state.ts';

/**
 * Compares a publication with the register's head, or makes the register's first edition. The same input gives the same
 * bytes, and no file gets its final name before it is whole.
 * @throws CompareError; the signal's reason when aborted
 */
export async function compareSmall(
  input: CompareInput,
  report: (progress: Progress) => void,
  signal: AbortSignal,
): Promise<CompareResult> {
  const limits: CompareLimits = { ...compareLimits, ...input.limits };
  for (const folder of [input.workDir, input.outputDir]) mkdirSync(folder, { recursive: true });
  report({ phase: 'scan', done: 0, total: 1, lines: 0 });
  const text = await readText(input.register, input.publicationPath, limits);
  signal.throwIfAborted();
  report({ phase: 'merge', done: 0, total: 1, lines: text.lines });
  const decided = await decide(input, text, limits);
  signal.throwIfAborted();
  report({ phase: 'finish', done: 0, total: 1, lines: text.lines });
  return write(input, text, decided, limits);
}

interface Decided {
  next: NextState;
  changes: SmallChange[];
  /** For each column, whether a difference in it counts as a change. */
  compared: readonly boolean[];
}

async function decide(input: CompareInput, text: SmallText, limits: CompareLimits): Promise<Decided> {
  const { register, base } = input;
  const rules = keepingRules(register);
  const all = rules.keepsPrevious.map(() => true);
  const head = base === null ? null : openBase({ ...input, base });
  if (head !== null && input.previous != null) {
    const served = inTodaysColumns(register, head);
    const previous = await readPrevious(register, input.previous, limits);
    const known = new Map([...served].map(([key, cells]) => [key, previous.rows.get(key) ?? cells]));
    const next = nextState(known, text, rules);
    return { next, changes: rebaseline(served, previous, next.rows), compared: previous.known };
  }
  if (head !== null) requireSameParser(register, head);
  const next = nextState(head?.rows ?? null, text, rules);
  return { next, changes: differences(head?.rows ?? null, next.rows), compared: all };
}

/** The change file is written first, because other files have its hash in their names. The state is written last. */
function write(input: CompareInput, text: SmallText, decided: Decided, limits: CompareLimits): CompareResult {
  const { register, edition, detectedAt, outputDir, workDir } = input;
  const { changes, compared } = decided;
  const { kept, keptCells, overlay } = decided.next;
  const columns = columnsOf(register);
  const { parserVersion } = registers[register];
  const baseSha256 = input.base?.changeFileSha256 ?? '';
  const isFull = input.base === null || input.previous != null;
  const facts = { register, edition, baseSha256, detectedAt, parserVersion, columns, isFull, corrects: null };
  const outputs = new EditionOutputs(outputDir, facts);
  const changeFile = outputs.changes(changes);
  const overlayFile = outputs.overlay(overlay);
  const rejects = listed(text, limits);
  const rejectFile = outputs.rejects(rejects, changeFile.sha256);
  const rows = new Map([...decided.next.rows].map(([key, { cells }]) => [key, cells]));
  const state = { edition, changeFileSha256: changeFile.sha256, parserVersion, columns, rows };
  const { indexName } = finishState(workDir, register, state, baseSha256, limits.maxAttemptAgeMs);
  sweepWorkFiles(outputDir, register, null, limits.maxAttemptAgeMs);
  return {
    changeFile,
    overlayFile,
    rejectFile,
    parserVersion,
    columns,
    indexName,
    ...countsOf({ columns, changes, rows, kept, isFull, compared }),
    lines: text.lines,
    rows: rows.size - kept,
    rejected: rejects.rejected,
    rejectedByReason: rejects.counts,
    repaired: rejects.repaired,
    duplicates: rejects.duplicates,
    emptyNames: emptyNames(text, columns.indexOf('nombre')),
    keptCells,
  };
}

function listed(text: SmallText, limits: CompareLimits): RejectList {
  const rejects = new RejectList(limits);
  for (const { line, reason, raw } of text.listed) rejects.add(reason, line, raw, 0, raw.length);
  return rejects;
}

function emptyNames(text: SmallText, column: number): number {
  return [...text.rows.values()].filter(({ cells }) => cells[column] === '').length;
}
