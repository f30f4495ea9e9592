import type { RegisterName } from '../../schemas/registers.ts';
import type { ChangeFileFacts } from './change-writer.ts';
import type { IndexBuilder } from './index-builder.ts';
import type { IndexHeader } from './index-header.ts';
import type { SegmentWriter } from './row-store.ts';
import type { Tally } from './tally.ts';
import { workFileName } from './work-files.ts';

export interface EditionFiles {
  facts: ChangeFileFacts;
  changeFileSha256: string;
  base: IndexHeader | null;
  segment: SegmentWriter;
  builder: IndexBuilder;
  tally: Tally;
  /** Change of the counts of empty cells, by column. */
  empty: Float64Array;
}

/**
 * Gives an edition's row segment and index their names, the rows before the index that points at them. The one place
 * that composes an index header, so that a rebuilt index equals the first one bit for bit.
 */
export function finishEdition(files: EditionFiles): IndexHeader {
  const { facts, changeFileSha256, base, segment, builder, tally } = files;
  const segments = [...(base?.segments ?? [])];
  if (segment.bytes > 0) {
    segments.push({ changeFileSha256, bytes: segment.bytes });
    segment.finish(workFileName(facts.register, changeFileSha256, 'rows'));
  }
  const emptyOf = (column: string, at: number) => (base?.emptyByColumn[column] ?? 0) + files.empty[at]!;
  return builder.finish(workFileName(facts.register, changeFileSha256, 'index'), {
    register: facts.register,
    edition: facts.edition,
    changeFileSha256,
    parserVersion: facts.parserVersion,
    columns: [...facts.columns],
    hashSeed: facts.hashSeed,
    rowsByKind: tally.rowsByKind,
    emptyByColumn: Object.fromEntries(facts.columns.map((column, at) => [column, emptyOf(column, at)])),
    segments,
  });
}

/** Names of the working files that these indexes need. */
export function neededFiles(register: RegisterName, headers: readonly (IndexHeader | null)[]): Set<string> {
  const names = new Set<string>();
  for (const header of headers) {
    if (header === null) continue;
    names.add(workFileName(register, header.changeFileSha256, 'index'));
    for (const { changeFileSha256 } of header.segments) names.add(workFileName(register, changeFileSha256, 'rows'));
  }
  return names;
}
