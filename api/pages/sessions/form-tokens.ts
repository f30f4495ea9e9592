import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { ApiProblem } from '../../problems.ts';
import type { ApiContext } from '../../request.ts';

// A form is accepted only from our own page: the browser says where it comes from, and the form has a token that only a
// page for the same session or visitor can have.

/** The hidden field with the token. */
export const tokenField = 'ficha';
/** The hidden field with the form's name. */
export const nameField = 'formulario';

const tokenBytes = 32;

/**
 * Makes the token of the forms on one page. It is the same for all pages and tabs of a session, but masked differently
 * each time: a page is compressed together with texts that others may choose, and a secret that repeats could then be
 * guessed from the sizes of answers.
 * @param secret the value of the session's or the visitor's cookie
 */
export function makeFormToken(secret: string): string {
  const mask = randomBytes(tokenBytes);
  return Buffer.concat([mask, xor(mask, tokenOf(secret))]).toString('base64url');
}

export function isTokenOf(secret: string, token: string): boolean {
  const bytes = Buffer.from(token, 'base64url');
  if (bytes.length !== 2 * tokenBytes) return false;
  return timingSafeEqual(xor(bytes.subarray(0, tokenBytes), bytes.subarray(tokenBytes)), tokenOf(secret));
}

function tokenOf(secret: string): Buffer {
  return createHmac('sha256', secret).update('token of the forms').digest();
}

function xor(one: Uint8Array, other: Uint8Array): Buffer {
  return Buffer.from(one.map((byte, index) => byte ^ other[index]!));
}

/**
 * Refuses what another site's page makes the browser send. Every browser sends Origin with POST. Most say in
 * Sec-Fetch-Site how the two sites are related, which is certain also behind a proxy that renames the host.
 * @param ownOrigin scheme and host of this service
 * @throws ApiProblem formulario_rechazado
 */
export function requireOwnOrigin(context: ApiContext, ownOrigin: string): void {
  const site = context.get('Sec-Fetch-Site');
  const isOwn = site === '' ? context.get('Origin') === ownOrigin : site === 'same-origin';
  if (!isOwn) throw refusedForm('El formulario no se envió desde una página de este servicio.');
}

/** @throws ApiProblem formulario_rechazado */
export function requireFormToken(secret: string | null, token: string | null): void {
  if (secret === null || token === null || !isTokenOf(secret, token))
    throw refusedForm('El formulario ya no vale: se abrió antes de entrar, en otra sesión o en otro navegador.');
}

export function refusedForm(detail: string): ApiProblem {
  return new ApiProblem('formulario_rechazado', detail);
}
