import { mkdirSync } from 'node:fs';
import type { EditionFacts } from '../../changes/change-file.ts';
import type { SmallText } from '../../registers/module.ts';
import { readCounts, resultOf } from '../counts.ts';
import { comparedEdition, requireSameParser } from '../edition.ts';
import { RejectList } from '../listings.ts';
import { type CompareInput, type CompareResult, compareLimits, type Progress } from '../types.ts';
import { differences, type NextState, nextState, readPrevious, readText, rebaseline } from './next-state.ts';
import { writeEdition } from './outputs.ts';
import { inTodaysColumns, openBase, type SmallChange, type SmallState } from './state.ts';

/**
 * Compares a publication with the register's head, or makes the register's first edition. The same input always gives
 * files with the same bytes. A file gets its final name only when it is whole.
 * @throws CompareError; the signal's reason when aborted
 */
export async function compareSmall(
  input: CompareInput,
  report: (progress: Progress) => void,
  signal: AbortSignal,
): Promise<CompareResult> {
  for (const folder of [input.workDir, input.outputDir]) mkdirSync(folder, { recursive: true });
  report({ phase: 'scan', done: 0, total: 1, lines: 0 });
  const text = await readText(input.register, input.publicationPath, compareLimits);
  signal.throwIfAborted();
  report({ phase: 'merge', done: 0, total: 1, lines: text.lines });
  const facts = comparedEdition(input);
  const head = input.base === null ? null : openBase(input, input.base);
  const decided = await decide(input, facts, head, text);
  signal.throwIfAborted();
  report({ phase: 'finish', done: 0, total: 1, lines: text.lines });
  return write(input, facts, head, text, decided);
}

interface Decided {
  next: NextState;
  changes: SmallChange[];
  /** For each column, whether a difference in it counts as a change. */
  compared: readonly boolean[];
}

async function decide(
  { register, previous: published }: CompareInput,
  { columns }: EditionFacts,
  head: SmallState | null,
  text: SmallText,
): Promise<Decided> {
  if (head !== null && published != null) {
    const served = inTodaysColumns(register, head);
    const previous = await readPrevious(register, published, compareLimits);
    const known = new Map([...served].map(([key, cells]) => [key, previous.rows.get(key) ?? cells]));
    const next = nextState(register, known, text);
    return { next, changes: rebaseline(served, previous, next.rows), compared: previous.known };
  }
  if (head !== null) requireSameParser(register, head);
  const next = nextState(register, head?.rows ?? null, text);
  return { next, changes: differences(head?.rows ?? null, next.rows), compared: columns.map(() => true) };
}

function write(
  input: CompareInput,
  facts: EditionFacts,
  head: SmallState | null,
  text: SmallText,
  { next, changes, compared }: Decided,
): CompareResult {
  const rejects = new RejectList();
  for (const { line, reason, raw } of text.listed) rejects.add(reason, line, raw, 0, raw.length);
  const rows = new Map([...next.rows].map(([key, { cells }]) => [key, cells]));
  const { tally, written, listing } = writeEdition(input, facts, head, { ...next, rows, changes, compared }, rejects);
  const name = facts.columns.indexOf('nombre');
  const emptyNames = [...text.rows.values()].filter(({ cells }) => cells[name] === '').length;
  const read = { lines: text.lines, rows: rows.size - next.kept, emptyNames };
  return resultOf(facts, tally, written, readCounts(read, rejects, listing));
}
