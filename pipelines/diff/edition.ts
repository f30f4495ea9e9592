import { mkdirSync } from 'node:fs';
import { type RegisterName, registers } from '../../schemas/registers.ts';
import { sha256OfFile } from '../archive/local-copies.ts';
import { type ChangeFile, type ChangeFileHeader, type EditionFacts, openChangeFile } from '../changes/change-file.ts';
import { CompareError } from '../changes/errors.ts';
import type { CompareInput, CorrectInput, RebuildInput, RebuildProgress } from './types.ts';

// Shared by the engines of large and of small registers: the facts of an edition, the checks of its base, and the order
// of a rebuild.

/** Facts about the state that WORK_DIR holds: its edition, and the parser and columns that its rows were read with. */
export type StateFacts = Pick<EditionFacts, 'edition' | 'parserVersion' | 'columns'> & { changeFileSha256: string };

export function columnsOf(register: RegisterName): string[] {
  return registers[register].columns.map(({ name }) => name);
}

/** Returns the facts of the edition that a comparison makes. */
export function comparedEdition({ register, edition, detectedAt, base, previous }: CompareInput): EditionFacts {
  return {
    register,
    edition,
    baseSha256: base?.changeFileSha256 ?? '',
    detectedAt,
    parserVersion: registers[register].parserVersion,
    columns: columnsOf(register),
    isFull: base === null || previous != null,
    corrects: null,
  };
}

/**
 * Returns the facts of a correction's edition. A correction parses nothing, so its parser version is the head's.
 * @throws CompareError `parser_changed` if the head has other columns than this program
 */
export function correctingEdition(input: CorrectInput, head: StateFacts): EditionFacts {
  const { register, edition, detectedAt, corrects } = input;
  const { changeFileSha256: baseSha256, parserVersion, columns } = head;
  if (columns.join() !== columnsOf(register).join()) {
    throw new CompareError(
      'parser_changed',
      'The head has other columns than this program: a re-baseline comes first.',
    );
  }
  return { register, edition, baseSha256, detectedAt, parserVersion, columns, isFull: false, corrects };
}

/** Checks that the new edition follows the state in WORK_DIR. @throws CompareError `index_damaged` */
export function requireBase(state: StateFacts, base: { edition: number }, edition: number): void {
  if (state.edition === base.edition && edition === base.edition + 1) return;
  const found = `The state in WORK_DIR is of edition ${state.edition}`;
  throw new CompareError('index_damaged', `${found}, the base is ${base.edition} and the new edition ${edition}.`);
}

/** @throws CompareError `parser_changed` when the state's parser version or columns are not this program's */
export function requireSameParser(register: RegisterName, { parserVersion, columns }: StateFacts): void {
  if (parserVersion === registers[register].parserVersion && columns.join() === columnsOf(register).join()) return;
  throw new CompareError('parser_changed', 'The base was read by another parser or with other columns.');
}

/**
 * Checks that an edition can be undone, by the header of its change file.
 * @throws CompareError `change_file_damaged` if the file is of another edition
 * @throws CompareError `not_correctable` if the edition wrote every row or has other columns than the head
 */
export function requireCorrectable(header: ChangeFileHeader, { register, corrects, columns }: EditionFacts): void {
  if (header.register !== register || header.edition !== corrects) {
    throw new CompareError('change_file_damaged', `The change file is not that of edition ${corrects}.`);
  }
  const why = header.isFull
    ? 'it states every row of the register'
    : header.columns.join() === columns.join()
      ? null
      : 'it has other columns than the head';
  if (why !== null) throw new CompareError('not_correctable', `Edition ${corrects} cannot be undone: ${why}.`);
}

/**
 * Applies change files in order, and returns the last state. The first file must be that of a full edition (`isFull`).
 * @param fold applies one file to a state and returns the next state
 * @throws CompareError `change_file_damaged`; the signal's reason when aborted
 */
export async function foldChangeFiles<State extends StateFacts>(
  { register, workDir, changeFiles }: RebuildInput,
  report: (progress: RebuildProgress) => void,
  signal: AbortSignal,
  fold: (base: State | null, file: ChangeFile, sha256: string, report: (records: number) => void) => Promise<State>,
): Promise<State> {
  mkdirSync(workDir, { recursive: true });
  let state: State | null = null;
  for (const { edition, path, sha256 } of changeFiles) {
    signal.throwIfAborted();
    if ((await sha256OfFile(path)) !== sha256)
      throw new CompareError('change_file_damaged', 'A change file is not what its name says.');
    const file = await openChangeFile(path);
    try {
      requireNext(file.header, register, edition, state);
      const lastEdition = changeFiles.at(-1)!.edition;
      state = await fold(state, file, sha256, (records) => report({ edition, lastEdition, records }));
    } finally {
      await file.close();
    }
  }
  if (state === null) throw new CompareError('change_file_damaged', 'There is no change file to rebuild from.');
  return state;
}

/** Checks that a change file follows the last one applied. The first must have every row, because it has no base. */
function requireNext(header: ChangeFileHeader, register: RegisterName, edition: number, base: StateFacts | null): void {
  const follows =
    base === null ? header.isFull : edition === base.edition + 1 && header.baseSha256 === base.changeFileSha256;
  if (header.register === register && header.edition === edition && follows) return;
  const why = base === null && !header.isFull ? 'state every row' : 'follow the one before it';
  throw new CompareError('change_file_damaged', `The change file of edition ${edition} does not ${why}.`);
}
