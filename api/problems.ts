import { isSilence } from '../pipelines/runtime/postgres.ts';
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

/**
 * Whether an error says that an engine did not answer, and nothing about the request: a refused or broken connection, a
 * server that starts or stops, a deadline. SQLSTATE classes: 08 connection, 53 resources, 57 operator intervention; and of 40
 * a transaction that was undone for another's sake, which succeeds when it is asked for again.
 */
export function isUnavailable(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (isSilence(error)) return true;
  const code = 'code' in error ? String(error.code) : '';
  if (/^((08|53|57)[0-9A-Z]{3}|40001|40P01)$/.test(code)) return true;
  if (/^(ECONN|EPIPE|ETIMEDOUT|EHOST|ENET|ENOTFOUND|EAI_)/.test(code)) return true;
  return /timeout exceeded when trying to connect|connection terminated|did not answer within/i.test(error.message);
}

/** A request does not wait for a store that hangs. What runs on is not stopped: its effect may still come. */
export function within<Value>(timeoutMs: number, work: Promise<Value>): Promise<Value> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`the store did not answer within ${timeoutMs} ms`)), timeoutMs);
    work.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
