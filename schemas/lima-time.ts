/** Peru has kept UTC−05:00 without summer time since 1994. */
const offsetMs = -5 * 3_600_000;

/** Writes a time as the API shows it: ISO 8601 to the second, with the offset −05:00. */
export function limaTime(at: Date): string {
  return `${new Date(at.getTime() + offsetMs).toISOString().slice(0, 19)}-05:00`;
}

/** Returns the date in Lima at that instant, YYYY-MM-DD. */
export function limaDay(at: Date): string {
  return new Date(at.getTime() + offsetMs).toISOString().slice(0, 10);
}

/** Returns the instant at which that day begins in Lima. */
export function startOfLimaDay(day: string): Date {
  return new Date(`${day}T00:00:00-05:00`);
}
