import { type ProblemCode, type ProblemDocument, problems } from '../schemas/http/problem.ts';
import { maskRuc } from '../schemas/ruc.ts';

type Extensions = Pick<ProblemDocument, 'encontrado' | 'meta' | 'clase' | 'errors' | 'disponible' | 'cursor'>;

/** An answer that is no success: bad input, a missing right, a store that does not answer. `detail` is Spanish. */
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

/** An engine did not answer. Never a claim about the data. */
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

export function registerNotLoaded(): ApiProblem {
  return new ApiProblem(
    'padron_no_disponible',
    'El padrón todavía no se ha cargado en este servicio. Vuelva a intentarlo más tarde.',
    {},
    { 'Retry-After': '60' },
  );
}

export function notFound(what: string): ApiProblem {
  return new ApiProblem('recurso_no_encontrado', `${what} no existe.`);
}

export function methodNotAllowed(method: string, allowed: readonly string[]): ApiProblem {
  const names = allowed.join(', ');
  const detail = `${method} no está permitido aquí; se admite: ${names}.`;
  return new ApiProblem('metodo_no_permitido', detail, {}, { Allow: names });
}

/** The body of RFC 9457 with the members that local clients read. */
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
 * Text of a caller as it may be shown or logged: every run of eight or more digits, of whatever script, that is not a
 * company's RUC is masked, since a natural person's RUC, whole or mistyped, holds a national id.
 */
export function maskText(text: string): string {
  return text.replace(/\p{Nd}{8,}/gu, maskRuc);
}

/** A request's path for `instance`: without query, masked, and decoded first so that an encoded digit hides nothing. */
export function maskedPath(path: string): string {
  try {
    return encodeURI(maskText(decodeURIComponent(path))).replace(/[?#]/g, encodeURIComponent);
  } catch {
    return '/';
  }
}
