const dayFirst = /^(\d{2})\/(\d{2})\/(\d{4})$/;
const yearFirst = /^(\d{4})(\d{2})(\d{2})$/;

/** Reads `dd/mm/yyyy` or `YYYYMMDD` as YYYY-MM-DD; null for any other text and for a day that does not exist. */
export function writtenDay(text: string): string | null {
  const [, day, month, year] = dayFirst.exec(text) ?? [];
  const [, yearOfOther, monthOfOther, dayOfOther] = yearFirst.exec(text) ?? [];
  const iso = `${year ?? yearOfOther}-${month ?? monthOfOther}-${day ?? dayOfOther}`;
  const at = new Date(`${iso}T00:00:00Z`);
  return !Number.isNaN(at.getTime()) && at.toISOString().slice(0, 10) === iso ? iso : null;
}

/** Whether a cell has no date: the sources write nothing, a dash or zeros (`00000000`, `00/00/0000`). */
export function isNoDate(text: string): boolean {
  return /^[0/ -]*$/.test(text);
}
