import { checkRuc, isCompany, maskRuc, type RucProblem, rucLength } from '../schemas/ruc.ts';
import type { Caller } from './accounts/callers.ts';
import { ApiProblem } from './problems.ts';

/** @throws ApiProblem ruc_formato, ruc_digito_verificador (which names the digit that would be right) */
export function requireRuc(text: string): string {
  const check = checkRuc(text);
  if (check.ok) return check.ruc;
  throw rucProblem(text, check);
}

/** A natural person's record is opened by a data-processing contract alone, whether or not it exists. */
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

/** The code that refuses a RUC in a watch list; null: it is a company's. */
export function refusalOfMember(text: string): 'ruc_formato' | 'ruc_digito_verificador' | 'solo_empresas' | null {
  const check = checkRuc(text);
  if (!check.ok) return check.problem === 'check_digit' ? 'ruc_digito_verificador' : 'ruc_formato';
  return isCompany(text) ? null : 'solo_empresas';
}

/** @throws ApiProblem 422 solo_empresas, 400 ruc_formato, ruc_digito_verificador */
export function requireCompany(text: string): string {
  const ruc = requireRuc(text);
  if (isCompany(ruc)) return ruc;
  throw new ApiProblem('solo_empresas', 'Las listas admiten solo RUC de empresas (los que empiezan con 20).');
}

/** What is wrong with a text that should be a RUC, in words; the text is masked where it is repeated. */
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
