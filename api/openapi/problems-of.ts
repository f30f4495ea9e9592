import type { ProblemCode } from '../../schemas/http/problem.ts';
import type { Access, Operation } from './operation.ts';

const always: readonly ProblemCode[] = [
  'parametro_invalido',
  'parametro_desconocido',
  'sin_token',
  'token_invalido',
  'token_revocado',
  'limite_por_minuto',
  'error_interno',
  'servicio_no_disponible',
];

const byAccess: Readonly<Record<Access, readonly ProblemCode[]>> = {
  free: ['token_sandbox'],
  micro: ['token_sandbox', 'plan_insuficiente'],
  crecimiento: ['token_sandbox', 'plan_insuficiente'],
  calendario: [],
  calendario_ics: [],
};

const ofBodies: readonly ProblemCode[] = ['json_invalido', 'cuerpo_demasiado_grande', 'tipo_no_admitido'];
const ofMetered: readonly ProblemCode[] = ['cuota_agotada'];

/** What is answered before it is known which operation is asked for, if any. */
export const ofNoOperation: readonly ProblemCode[] = [
  'peticion_mal_formada',
  'peticion_incompleta',
  'cabeceras_demasiado_grandes',
  'ruta_no_encontrada',
  'metodo_no_permitido',
];

/** Every code that an operation can answer with. */
export function problemsOf(operation: Operation): readonly ProblemCode[] {
  const codes = new Set<ProblemCode>([
    ...always,
    ...byAccess[operation.access],
    ...(operation.body === undefined ? [] : ofBodies),
    ...(operation.charge === undefined ? [] : ofMetered),
    ...(operation.problems ?? []),
  ]);
  return [...codes];
}
