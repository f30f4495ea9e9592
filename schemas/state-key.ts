import { createHash } from 'node:crypto';
import { checkRuc, rucLength } from './ruc.ts';

/** What the id of a supplier is. The state-procurement lists name suppliers by a RUC, or by something else. */
const idKinds = ['ruc', 'ruc_no_valido', 'codigo_extranjero', 'documento'] as const;
export type IdKind = (typeof idKinds)[number];

/**
 * `ruc_no_valido`: eleven digits whose check digit or prefix fails. `codigo_extranjero`: the codes with prefix 99 and 88 of
 * suppliers without RUC. `documento`: anything else, a national id among them. Nothing is padded or repaired.
 */
export function idKindOf(id: string): IdKind {
  if (checkRuc(id).ok) return 'ruc';
  if (!isElevenDigits(id)) return 'documento';
  return id.startsWith('99') || id.startsWith('88') ? 'codigo_extranjero' : 'ruc_no_valido';
}

/** Above every eleven-digit number. */
export const firstOtherKey = 1_000_000_000_000;

/**
 * The number under which a row's key stands in ClickHouse: eleven digits as they are; any other id as 10¹² plus 48 bits of
 * its SHA-256, since it may hold letters or leading zeros. Below 2^53. The id itself is the record's key in Kafka.
 */
export function stateKeyOf(id: string): number {
  if (isElevenDigits(id)) return Number(id);
  return firstOtherKey + createHash('sha256').update(id, 'utf8').digest().readUIntBE(0, 6);
}

function isElevenDigits(id: string): boolean {
  return id.length === rucLength && /^[0-9]+$/.test(id);
}
