import { createHash } from 'node:crypto';

/**
 * The delivery's id: one per event and webhook; X-Service-Delivery of every attempt. It begins with the day of its
 * partition as YYMMDD, for who knows the id alone. No more digits than these stand together: a longer run would be masked
 * in paths and logs as somebody's RUC.
 * @param day YYYY-MM-DD
 */
export function deliveryId(day: string, event: string, webhookId: string): string {
  return `en_${day.slice(2).replaceAll('-', '')}_${digest(`${event}:${webhookId}`)}`;
}

const idWithDay = /^en_([0-9]{2})([0-9]{2})([0-9]{2})_[A-Za-z0-9_-]{22}$/;

/** The day that a delivery's id holds, YYYY-MM-DD. null: it holds none, as ids of earlier releases, or no day that there is. */
export function dayInDeliveryId(id: string): string | null {
  const [, year, month, date] = idWithDay.exec(id) ?? [];
  if (year === undefined) return null;
  const day = `20${year}-${month}-${date}`;
  const at = new Date(`${day}T00:00:00Z`);
  return !Number.isNaN(at.getTime()) && at.toISOString().startsWith(day) ? day : null;
}

/** 128 bits of SHA-256 as base64url: 22 characters, none of them a dot. */
export function digest(text: string): string {
  return createHash('sha256').update(text, 'utf8').digest().subarray(0, 16).toString('base64url');
}
