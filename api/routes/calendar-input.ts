import { type Digit, digits, type YearRange } from '../../schemas/http/calendar.ts';
import { isDay } from '../calendar/days.ts';
import type { Answered } from '../calendar/types.ts';
import { ApiProblem } from '../problems.ts';

/** What the calendar's routes take, checked. None of these texts is repeated in a problem: it may be a whole RUC. */

/** @throws ApiProblem fecha_invalida */
export function requireDay(text: string, campo: string): string {
  if (isDay(text)) return text;
  const mensaje = 'debe ser una fecha que exista, escrita AAAA-MM-DD';
  throw new ApiProblem('fecha_invalida', `${campo}: ${mensaje}.`, { errors: [{ campo, mensaje }] });
}

/** @throws ApiProblem parametro_invalido: whether the year is served is another question */
export function requireYear(text: string): number {
  if (/^[0-9]{4}$/.test(text)) return Number(text);
  throw invalid('anio', 'debe ser un año de cuatro dígitos');
}

type QueryValue = string | readonly string[] | undefined;

/**
 * Asked before anything else of a query, so that no other problem can come to quote what stands there: a RUC that starts
 * with 10 holds the number of a person's identity document.
 * @throws ApiProblem ruc_no_admitido
 */
export function refuseWholeRuc(digito: QueryValue): void {
  if (![digito ?? []].flat().some((text) => text.length > 1)) return;
  throw new ApiProblem(
    'ruc_no_admitido',
    'digito: envíe solo el último dígito del RUC, nunca el RUC entero. El valor recibido no se guarda.',
    { errors: [{ campo: 'digito', mensaje: 'debe ser un solo dígito' }] },
  );
}

/** @throws ApiProblem parametro_invalido */
export function requireDigit(digito: QueryValue): Digit {
  const digit = digits.find((each) => each === digito);
  if (digit === undefined) throw invalid('digito', 'debe ser un dígito de 0 a 9');
  return digit;
}

/** @throws ApiProblem anio_no_disponible, which names the years that are */
export function requireCovered<Answer>(answer: Answered<Answer>): { ok: true } & Answer {
  if (answer.ok) return answer;
  throw notCovered(answer.covers);
}

function notCovered(cubre: YearRange): ApiProblem {
  const detail = `Esta operación cubre los años ${cubre.desde} a ${cubre.hasta}.`;
  return new ApiProblem('anio_no_disponible', detail, { meta: { cubre } });
}

function invalid(campo: string, mensaje: string): ApiProblem {
  return new ApiProblem('parametro_invalido', `${campo}: ${mensaje}.`, { errors: [{ campo, mensaje }] });
}
