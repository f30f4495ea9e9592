import { type Digit, digits } from '../schemas/http/calendar.ts';
import { limaDay } from '../schemas/lima-time.ts';
import { checkRuc, isCompany, maskRuc, type RucProblem, rucLength } from '../schemas/ruc.ts';
import type { Caller } from './accounts/callers.ts';
import { isDay } from './calendar/days.ts';
import { ApiProblem, fieldProblem } from './problems.ts';

/** Checks of single values. Each check has its own error code, and a schema cannot give error codes. */

/** @throws ApiProblem ruc_formato; or ruc_digito_verificador, whose text names the expected digit */
export function requireRuc(text: string): string {
  const check = checkRuc(text);
  if (check.ok) return check.ruc;
  throw rucProblem(text, check);
}

/**
 * Returns the reference of the caller's data-processing contract. Without a contract a caller may not ask for a natural
 * person's RUC, even for one that no register has.
 * @throws ApiProblem contrato_requerido
 */
export function requireContract(caller: Caller): string {
  if (caller.contract !== null) return caller.contract;
  throw contractRequired();
}

export function contractRequired(): ApiProblem {
  return new ApiProblem(
    'contrato_requerido',
    'Los RUC de personas naturales se consultan solo con un contrato de tratamiento de datos vigente.',
  );
}

/** Returns why a watch list refuses a RUC, or null for a company's RUC, which the list accepts. */
export function refusalOfMember(text: string): 'ruc_formato' | 'ruc_digito_verificador' | 'solo_empresas' | null {
  const check = checkRuc(text);
  if (!check.ok) return check.problem === 'check_digit' ? 'ruc_digito_verificador' : 'ruc_formato';
  return isCompany(text) ? null : 'solo_empresas';
}

/**
 * @throws ApiProblem ruc_formato or ruc_digito_verificador (400) when the text is not a valid RUC; solo_empresas (422)
 *   when the RUC is valid but not a company's
 */
export function requireCompany(text: string): string {
  const ruc = requireRuc(text);
  if (isCompany(ruc)) return ruc;
  throw new ApiProblem('solo_empresas', 'Las listas admiten solo RUC de empresas (los que empiezan con 20).');
}

/** Makes the problem of a text that should be a RUC. The problem shows the text only in masked form. */
export function rucProblem(text: string, problem: RucProblem): ApiProblem {
  switch (problem.problem) {
    case 'length':
      return new ApiProblem(
        'ruc_formato',
        `El RUC tiene ${rucLength} dígitos; se recibieron ${problem.length} caracteres.`,
      );
    case 'characters':
      return new ApiProblem('ruc_formato', 'El RUC se compone solo de dígitos, sin letras, guiones ni espacios.');
    case 'prefix':
      return new ApiProblem('ruc_formato', 'El RUC empieza con 10, 15, 16, 17 o 20.');
    case 'check_digit':
      return new ApiProblem(
        'ruc_digito_verificador',
        `El dígito verificador de ${maskRuc(text)} no es correcto: debería ser ${problem.expected}.`,
        { encontrado: false },
      );
  }
}

/** @throws ApiProblem fecha_invalida */
export function requireDay(text: string, campo: string): string {
  if (isDay(text)) return text;
  throw fieldProblem('fecha_invalida', campo, 'debe ser una fecha que exista, escrita AAAA-MM-DD');
}

/** Accepts today in Lima and earlier days. @throws ApiProblem fecha_invalida */
export function requirePastDay(text: string, campo: string, now: Date): string {
  const day = requireDay(text, campo);
  if (day <= limaDay(now)) return day;
  throw fieldProblem('fecha_invalida', campo, 'no puede ser una fecha futura');
}

/** Does not check whether the calendar covers the year. @throws ApiProblem parametro_invalido */
export function requireYear(text: string): number {
  if (/^[0-9]{4}$/.test(text)) return Number(text);
  throw fieldProblem('parametro_invalido', 'anio', 'debe ser un año de cuatro dígitos');
}

type QueryValue = string | readonly string[] | undefined;

/**
 * Refuses a whole RUC where only its last digit is needed, because a RUC that starts with 10 contains a person's
 * national id. Call this before all other checks of a query. Otherwise the error of another check could quote the RUC.
 * @throws ApiProblem ruc_no_admitido
 */
export function refuseWholeRuc(digito: QueryValue): void {
  if (![digito ?? []].flat().some((text) => text.length > 1)) return;
  throw fieldProblem(
    'ruc_no_admitido',
    'digito',
    'debe ser un solo dígito',
    'digito: envíe solo el último dígito del RUC, nunca el RUC entero. El valor recibido no se guarda.',
  );
}

/** @throws ApiProblem parametro_invalido */
export function requireDigit(digito: QueryValue): Digit {
  const digit = digits.find((each) => each === digito);
  if (digit === undefined) throw fieldProblem('parametro_invalido', 'digito', 'debe ser un dígito de 0 a 9');
  return digit;
}
