import { createHash } from 'node:crypto';

/**
 * The delivery's id, one per event and webhook; every attempt sends it as X-Service-Delivery. It begins with the day of
 * its partition (YYMMDD), so a delivery can be found by its id alone. It must not hold more digits in a row than these
 * six: paths and logs mask a longer run as somebody's RUC.
 * @param day YYYY-MM-DD
 */
export function deliveryId(day: string, event: string, webhookId: string): string {
  return `en_${day.slice(2).replaceAll('-', '')}_${digest(`${event}:${webhookId}`)}`;
}

const idWithDay = /^en_([0-9]{2})([0-9]{2})([0-9]{2})_[A-Za-z0-9_-]{22}$/;

/** The day in a delivery's id as YYYY-MM-DD; null if the day is invalid, or for an id of an earlier release. */
export function dayInDeliveryId(id: string): string | null {
  const [, year, month, date] = idWithDay.exec(id) ?? [];
  if (year === undefined) return null;
  const day = `20${year}-${month}-${date}`;
  const at = new Date(`${day}T00:00:00Z`);
  return !Number.isNaN(at.getTime()) && at.toISOString().startsWith(day) ? day : null;
}

/** 128 bits of SHA-256 as base64url: 22 characters without a dot. */
export function digest(text: string): string {
  return createHash('sha256').update(text, 'utf8').digest().subarray(0, 16).toString('base64url');
}
