import { createHash } from 'node:crypto';

/**
 * Returns the id of the delivery of an event to a webhook. Every attempt sends it as X-Service-Delivery. The id
 * contains the day of the delivery's partition (YYMMDD), so a delivery can be found by its id alone. It must not
 * contain a run of more than these six digits: paths and logs mask a longer run as somebody's RUC.
 * @param day the day of the partition, YYYY-MM-DD
 */
export function deliveryId(day: string, event: string, webhookId: string): string {
  return `en_${day.slice(2).replaceAll('-', '')}_${digest(`${event}:${webhookId}`)}`;
}

const idWithDay = /^en_([0-9]{2})([0-9]{2})([0-9]{2})_[A-Za-z0-9_-]{22}$/;

/** Returns the day in a delivery's id as YYYY-MM-DD; null if the day is invalid or an earlier release made the id. */
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
