/**
 * Edits between two words: a letter put in, left out or written for another, or two neighbours changed for each other, no
 * letter edited twice (optimal string alignment). More than `most` is told as most + 1, and found out early.
 */
export function editsBetween(one: string, other: string, most: number): number {
  const tooMany = most + 1;
  if (Math.abs(one.length - other.length) > most) return tooMany;
  let beforeLast = new Array<number>(other.length + 1).fill(tooMany);
  let last = Array.from({ length: other.length + 1 }, (_, column) => column);
  let current = beforeLast.slice();
  for (let row = 1; row <= one.length; row += 1) {
    current[0] = row;
    let least = row;
    for (let column = 1; column <= other.length; column += 1) {
      const isSame = one[row - 1] === other[column - 1];
      let edits = Math.min(last[column]! + 1, current[column - 1]! + 1, last[column - 1]! + (isSame ? 0 : 1));
      const isSwapped =
        row > 1 && column > 1 && one[row - 1] === other[column - 2] && one[row - 2] === other[column - 1];
      if (isSwapped) edits = Math.min(edits, beforeLast[column - 2]! + 1);
      current[column] = edits;
      if (edits < least) least = edits;
    }
    if (least > most) return tooMany;
    [beforeLast, last, current] = [last, current, beforeLast];
  }
  return Math.min(last[other.length]!, tooMany);
}
