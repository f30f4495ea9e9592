import { createHash } from 'node:crypto';

/**
 * A RUC (Registro Único de Contribuyentes) has eleven digits. The first two are the kind of taxpayer: 20 for legal
 * persons; 10, 15, 16 and 17 for natural persons. The eleventh is a check digit over the other ten:
 * - sum = digit 1 × 5 + digit 2 × 4 + …, by the weights 5 4 3 2 7 6 5 4 3 2
 * - check digit = the last digit of 11 − (sum mod 11)
 */
export const rucLength = 11;
export const rucPrefixes = ['10', '15', '16', '17', '20'] as const;

export type RucProblem =
  | { problem: 'length'; length: number }
  | { problem: 'characters' }
  | { problem: 'prefix'; prefix: string }
  | { problem: 'check_digit'; expected: number };

export type RucCheck = { ok: true; ruc: string } | ({ ok: false } & RucProblem);

const weights = [5, 4, 3, 2, 7, 6, 5, 4, 3, 2] as const;

export function checkDigit(firstTenDigits: string): number {
  let sum = 0;
  for (let position = 0; position < weights.length; position += 1) {
    sum += (firstTenDigits.charCodeAt(position) - 48) * weights[position]!;
  }
  return (11 - (sum % 11)) % 10;
}

/** Checks a text that should be a RUC. It never pads, trims or repairs the text: a short number is a wrong number. */
export function checkRuc(text: string): RucCheck {
  if (text.length !== rucLength) return { ok: false, problem: 'length', length: text.length };
  if (!/^[0-9]+$/.test(text)) return { ok: false, problem: 'characters' };
  const prefix = text.slice(0, 2);
  if (!(rucPrefixes as readonly string[]).includes(prefix)) return { ok: false, problem: 'prefix', prefix };
  const expected = checkDigit(text);
  if (text.charCodeAt(10) - 48 !== expected) return { ok: false, problem: 'check_digit', expected };
  return { ok: true, ruc: text };
}

/** Whether a RUC is a legal person's. Others are treated as a natural person's, whose name is identity data. */
export function isCompany(ruc: string): boolean {
  return ruc.startsWith('20');
}

/**
 * Masks a RUC for logs, errors and metrics. A company's RUC stays readable. Every other text is masked, because it may
 * contain a national id.
 */
export function maskRuc(ruc: string): string {
  if (isCompany(ruc) && ruc.length === rucLength) return ruc;
  return `${ruc.slice(0, 2)}*******${ruc.slice(-2)}`;
}

/** Kinds of a supplier's id. The state-procurement lists identify a supplier by a RUC or by another id. */
export type IdKind = 'ruc' | 'ruc_no_valido' | 'codigo_extranjero' | 'documento';

/**
 * Returns the kind of an id. The id is never padded or repaired.
 * - `ruc_no_valido`: eleven digits with a wrong check digit or prefix
 * - `codigo_extranjero`: eleven digits with the prefix 99 or 88, for a supplier without a RUC
 * - `documento`: anything else, such as a national id
 */
export function idKindOf(id: string): IdKind {
  if (checkRuc(id).ok) return 'ruc';
  if (!isElevenDigits(id)) return 'documento';
  return id.startsWith('99') || id.startsWith('88') ? 'codigo_extranjero' : 'ruc_no_valido';
}

/** The lowest key that stateKeyOf() gives an id that is not eleven digits. It is above every eleven-digit number. */
export const firstOtherKey = 1_000_000_000_000;

/**
 * Returns the number that ClickHouse stores as a row's key. An id of eleven digits is this number itself. Any other id
 * may have letters or leading zeros, so its number is 10¹² + 48 bits of its SHA-256 (below 2^53). In Kafka, the key is
 * the id.
 */
export function stateKeyOf(id: string): number {
  if (isElevenDigits(id)) return Number(id);
  return firstOtherKey + createHash('sha256').update(id, 'utf8').digest().readUIntBE(0, 6);
}

function isElevenDigits(id: string): boolean {
  return id.length === rucLength && /^[0-9]+$/.test(id);
}
