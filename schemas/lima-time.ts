/** Times as the API writes them. Peru has kept UTC−05:00 without summer time since 1994. */
const offsetMs = -5 * 3_600_000;

/** ISO 8601 with the offset −05:00, to the second. */
export function limaTime(at: Date): string {
  return `${new Date(at.getTime() + offsetMs).toISOString().slice(0, 19)}-05:00`;
}

/** The date in Lima at that instant, YYYY-MM-DD. */
export function limaDay(at: Date): string {
  return new Date(at.getTime() + offsetMs).toISOString().slice(0, 10);
}

/** The instant at which that day begins in Lima. */
export function startOfLimaDay(day: string): Date {
  return new Date(`${day}T00:00:00-05:00`);
}
