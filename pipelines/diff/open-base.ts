import type { RegisterName } from '../../schemas/registers.ts';
import { type EditionIndex, openIndex } from './edition-index.ts';
import { CompareError } from './errors.ts';

/** The index of the head, proved to be the one before the new edition. Errors: `index_missing`, `index_damaged`. */
export function openBase(
  input: { workDir: string; register: RegisterName; edition: number },
  base: { edition: number; changeFileSha256: string },
): EditionIndex {
  const index = openIndex(input.workDir, input.register, base.changeFileSha256);
  if (index.header.edition !== base.edition || input.edition !== base.edition + 1) {
    const found = `The index is of edition ${index.header.edition}`;
    throw new CompareError(
      'index_damaged',
      `${found}, the base is ${base.edition} and the new edition ${input.edition}.`,
    );
  }
  return index;
}
