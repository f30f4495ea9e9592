const dayFirst = /^(\d{2})\/(\d{2})\/(\d{4})$/;
const yearFirst = /^(\d{4})(\d{2})(\d{2})$/;

/** The day that `dd/mm/yyyy` or `YYYYMMDD` writes, as YYYY-MM-DD; null for other text and for no day of the calendar. */
export function writtenDay(text: string): string | null {
  const [, day, month, year] = dayFirst.exec(text) ?? [];
  const [, yearOfOther, monthOfOther, dayOfOther] = yearFirst.exec(text) ?? [];
  const iso = `${year ?? yearOfOther}-${month ?? monthOfOther}-${day ?? dayOfOther}`;
  const at = new Date(`${iso}T00:00:00Z`);
  return !Number.isNaN(at.getTime()) && at.toISOString().slice(0, 10) === iso ? iso : null;
}

/** Empty, or nothing but zeros (`00000000`, `00/00/0000`): the source's way to write no date. */
export function isNoDate(text: string): boolean {
  return /^[0/ -]*$/.test(text);
}
