import { isSilence } from '../pipelines/runtime/postgres.ts';
import { type ProblemCode, type ProblemDocument, problems } from '../schemas/http/problem.ts';
import { maskRuc } from '../schemas/ruc.ts';

type Extensions = Pick<ProblemDocument, 'encontrado' | 'meta' | 'clase' | 'errors' | 'disponible' | 'cursor'>;

/**
 * The answer to a request that fails, for example because the input is bad, a right is missing or a store is down.
 * `detail` is Spanish.
 */
export class ApiProblem extends Error {
  override name = 'ApiProblem';
  readonly code: ProblemCode;
  readonly extensions: Extensions;
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    code: ProblemCode,
    detail: string,
    extensions: Extensions = {},
    headers: Readonly<Record<string, string>> = {},
  ) {
    super(detail);
    this.code = code;
    this.extensions = extensions;
    this.headers = headers;
  }

  get status(): number {
    return problems[this.code].status;
  }
}

const storeRetryAfterSeconds = 5;

/** Makes the problem for a store that did not answer. It leaves open whether the requested data exist. */
export function storeUnavailable(cause: unknown): ApiProblem {
  const problem = new ApiProblem(
    'servicio_no_disponible',
    'Una parte del servicio no responde en este momento. Vuelva a intentarlo en unos segundos.',
    {},
    { 'Retry-After': String(storeRetryAfterSeconds) },
  );
  problem.cause = cause;
  return problem;
}

/** For a `catch`: throws an ApiProblem unchanged, and servicio_no_disponible in place of any other error. */
export function throwUnavailable(error: unknown): never {
  throw error instanceof ApiProblem ? error : storeUnavailable(error);
}

export function registerNotLoaded(): ApiProblem {
  return new ApiProblem(
    'padron_no_disponible',
    'El padrón todavía no se ha cargado en este servicio. Vuelva a intentarlo más tarde.',
    {},
    { 'Retry-After': '60' },
  );
}

export function fieldProblem(
  code: ProblemCode,
  campo: string,
  mensaje: string,
  detail = `${campo}: ${mensaje}.`,
): ApiProblem {
  return new ApiProblem(code, detail, { errors: [{ campo, mensaje }] });
}

export function notFound(what: string): ApiProblem {
  return new ApiProblem('recurso_no_encontrado', `${what} no existe.`);
}

export function methodNotAllowed(method: string, allowed: readonly string[]): ApiProblem {
  const names = allowed.join(', ');
  const detail = `${method} no está permitido aquí; se admite: ${names}.`;
  return new ApiProblem('metodo_no_permitido', detail, {}, { Allow: names });
}

/** Makes an RFC 9457 error body. It also has `success` and `message`, which clients of other Peruvian APIs expect. */
export function problemBody(
  problem: ApiProblem,
  around: { baseUrl: string; instance: string; requestId: string },
): ProblemDocument {
  const { status, title } = problems[problem.code];
  return {
    type: `${around.baseUrl}/errores/${problem.code}`,
    title,
    status,
    detail: problem.message,
    instance: around.instance,
    success: false,
    message: problem.message,
    code: problem.code,
    request_id: around.requestId,
    ...problem.extensions,
  };
}

/**
 * Masks a caller's text before it is shown or logged. It masks every run of eight or more digits, in any script, except
 * a company's RUC. Such digits may be a natural person's RUC, even a mistyped one, and then contain a national id.
 */
export function maskText(text: string): string {
  return text.replace(/\p{Nd}{8,}/gu, maskRuc);
}

/** Masks a path for the problem's `instance`. The path is decoded first, so that encoded digits are masked too. */
export function maskedPath(path: string): string {
  try {
    return encodeURI(maskText(decodeURIComponent(path))).replace(/[?#]/g, encodeURIComponent);
  } catch {
    return '/';
  }
}

/**
 * Whether an error means that a store did not answer: a refused or broken connection, a server that starts, stops or
 * only reads (25006, as during a failover), or a missed deadline. The SQLSTATE classes are 08 (connection), 53
 * (resources) and 57 (operator intervention). After 40001 or 40P01 a repeat succeeds, because PostgreSQL rolled back
 * only to let another transaction pass.
 */
export function isUnavailable(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (isSilence(error)) return true;
  const code = 'code' in error ? String(error.code) : '';
  if (/^((08|53|57)[0-9A-Z]{3}|25006|25P03|40001|40P01)$/.test(code)) return true;
  if (/^(ECONN|EPIPE|ETIMEDOUT|EHOST|ENET|ENOTFOUND|EAI_|no_answer$)/.test(code)) return true;
  return /timeout exceeded when trying to connect|connection terminated|not queryable/i.test(error.message);
}
