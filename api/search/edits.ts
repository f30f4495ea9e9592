/** Rows of the table of edits, used by one call after another: a search compares thousands of words. */
let rows = Array.from({ length: 3 }, () => new Array<number>(64).fill(0));

/**
 * Edits between two words: a letter put in, left out or written for another, or two neighbours changed for each other, no
 * letter edited twice (optimal string alignment). More than `most` is told as most + 1, and found out early: beyond `most` places
 * off the diagonal there are only more edits.
 */
export function editsBetween(one: string, other: string, most: number): number {
  const tooMany = most + 1;
  if (Math.abs(one.length - other.length) > most) return tooMany;
  if (rows[0]!.length < other.length + 2) rows = rows.map(() => new Array<number>(other.length + 2).fill(0));
  let [beforeLast, last, current] = rows as [number[], number[], number[]];
  for (let column = 0; column <= Math.min(other.length, most) + 1; column += 1) last[column] = column;
  for (let row = 1; row <= one.length; row += 1) {
    const from = Math.max(1, row - most);
    const to = Math.min(other.length, row + most);
    current[from - 1] = from === 1 ? row : tooMany;
    let least = current[from - 1]!;
    const letter = one.charCodeAt(row - 1);
    const letterBefore = one.charCodeAt(row - 2);
    for (let column = from; column <= to; column += 1) {
      const otherLetter = other.charCodeAt(column - 1);
      let edits = last[column - 1]! + (letter === otherLetter ? 0 : 1);
      if (last[column]! + 1 < edits) edits = last[column]! + 1;
      if (current[column - 1]! + 1 < edits) edits = current[column - 1]! + 1;
      const isSwapped =
        row > 1 && column > 1 && letter === other.charCodeAt(column - 2) && letterBefore === otherLetter;
      if (isSwapped && beforeLast[column - 2]! + 1 < edits) edits = beforeLast[column - 2]! + 1;
      current[column] = edits;
      if (edits < least) least = edits;
    }
    current[to + 1] = tooMany;
    if (least > most) return tooMany;
    [beforeLast, last, current] = [last, current, beforeLast];
  }
  return Math.min(last[other.length]!, tooMany);
}
