import { idempotencyKeyText } from '../../schemas/http/batch.ts';
import { ApiProblem } from '../problems.ts';

/**
 * The key of the header Idempotency-Key, bare or as the quoted string of the IETF draft: both ways of writing name the same
 * key. null: none was sent.
 * @param values the header as often as it was sent
 * @throws ApiProblem parametro_invalido: empty, too long, not printable, not closed, or sent twice
 */
export function readIdempotencyKey(values: readonly string[] | undefined): string | null {
  if (values === undefined) return null;
  if (values.length > 1) throw invalidKey('se envió más de una vez');
  const { data: text, error } = idempotencyKeyText.safeParse(values[0]!.trim());
  if (text === undefined) throw invalidKey(error.issues[0]!.message);
  return text.startsWith('"') ? text.slice(1, -1).replace(/\\(["\\])/g, '$1') : text;
}

// The key itself is not repeated: it may hold anything, a RUC among it.
function invalidKey(mensaje: string): ApiProblem {
  const campo = 'Idempotency-Key';
  return new ApiProblem('parametro_invalido', `${campo}: ${mensaje}.`, { errors: [{ campo, mensaje }] });
}
