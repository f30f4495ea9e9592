import { ApiProblem } from '../problems.ts';

const maxKeyLength = 255;

/**
 * The key of the header Idempotency-Key, bare or as the quoted string of the IETF draft: both ways of writing name the same
 * key. null: none was sent.
 * @param values the header as often as it was sent
 * @throws ApiProblem parametro_invalido: empty, too long, not printable, not closed, or sent twice
 */
export function readIdempotencyKey(values: readonly string[] | undefined): string | null {
  if (values === undefined) return null;
  if (values.length > 1) throw invalidKey('se envió más de una vez');
  const text = values[0]!.trim();
  const key = text.startsWith('"') ? unquote(text) : text;
  if (key === null) throw invalidKey('empieza con comillas y no es una cadena entre comillas');
  if (key.length < 1 || key.length > maxKeyLength || !/^[\x20-\x7e]+$/.test(key))
    throw invalidKey(`debe tener de 1 a ${maxKeyLength} caracteres ASCII imprimibles`);
  return key;
}

/** A string of structured fields (RFC 8941, section 3.3.3), where only the quote and the backslash are escaped. */
function unquote(text: string): string | null {
  const inner = /^"((?:[^"\\]|\\["\\])*)"$/.exec(text);
  return inner === null ? null : inner[1]!.replace(/\\(["\\])/g, '$1');
}

// The key itself is not repeated: it may hold anything, a RUC among it.
function invalidKey(mensaje: string): ApiProblem {
  const campo = 'Idempotency-Key';
  return new ApiProblem('parametro_invalido', `${campo}: ${mensaje}.`, { errors: [{ campo, mensaje }] });
}
