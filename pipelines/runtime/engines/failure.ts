export const engineNames = ['PostgreSQL', 'Kafka', 'schema registry', 'ClickHouse', 'Temporal'] as const;
export type EngineName = (typeof engineNames)[number];

/**
 * Why an engine cannot be used.
 * - `away`: it does not answer. It may come back by itself.
 * - `refused`: it answers, but a setting, a certificate or its version is wrong. An operator must change something.
 */
export type FailureKind = 'away' | 'refused';

/** An engine that cannot be used. The message names engine, address and reason, without any secret. */
export class EngineError extends Error {
  override name = 'EngineError';
  readonly engine: EngineName;
  readonly kind: FailureKind;
  readonly code: string;

  constructor(engine: EngineName, address: string, failure: Failure, cause?: unknown) {
    super(`${engine} at ${address}: ${failure.reason}`, { cause });
    this.engine = engine;
    this.kind = failure.kind;
    this.code = failure.code;
  }
}

interface Failure {
  kind: FailureKind;
  reason: string;
  code: string;
}

/** Makes an EngineError of the error that a client threw. @param address without user and password */
export function engineError(engine: EngineName, address: string, error: unknown): EngineError {
  return error instanceof EngineError ? error : new EngineError(engine, address, failureOf(error), error);
}

/** Leaves out user, password and query of a URL, so that it can be shown. */
export function shownAddress(url: string): string {
  const { protocol, host, pathname } = new URL(url);
  return `${protocol}//${host}${pathname === '/' ? '' : pathname}`;
}

const unknownAuthority = 'no trusted authority signed its certificate; check the setting of the CA file';
const refusedLogin = 'it refuses the user, password or token';
const refusedCertificate = 'it refuses our client certificate; check the settings of the certificate and key files';
const noTls = 'it does not speak TLS at this port, or not this kind; check the address and the settings of TLS';

/**
 * Reasons by the codes of node:tls, PostgreSQL (five characters), ClickHouse (three digits), HTTP (`http_…`) and gRPC
 * (`grpc_…`).
 */
const refusals: readonly (readonly [pattern: RegExp, reason: string])[] = [
  [/^CERT_HAS_EXPIRED$/, 'its certificate has expired'],
  [/^CERT_NOT_YET_VALID$/, 'its certificate is not valid yet; compare the clocks'],
  [/^ERR_TLS_CERT_ALTNAME_INVALID$/, 'its certificate is for other names than this address'],
  [/^(UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_|CERT_)/, unknownAuthority],
  [
    /ALERT_(CERTIFICATE|BAD_CERTIFICATE|UNKNOWN_CA|ACCESS_DENIED|HANDSHAKE_FAILURE)|_CERTIFICATE_(EXPIRED|REVOKED|UNKNOWN)$/,
    refusedCertificate,
  ],
  [/^ERR_SSL_(WRONG_VERSION|PACKET_LENGTH|UNSUPPORTED_PROTOCOL|TLSV1_ALERT_PROTOCOL)/, noTls],
  [/^(ERR_OSSL|ERR_SSL)_/, 'its certificate files do not go together or are no PEM files'],
  [/^tls_file_unreadable$/, 'a file of its settings cannot be read'],
  [/^(28P01|28000|516|http_401|grpc_16)$/, refusedLogin],
  [/^(42501|497|http_403|grpc_7)$/, 'this user or token lacks a right'],
  [/^3D000$/, 'it has no such database'],
  [/^grpc_5$/, 'it has no such namespace'],
  [/^http_404$/, 'nothing answers under the path of this address'],
];

const awayCodes = /^(E[A-Z]+|grpc_(1|4|14)|57P0[123]|http_5\d\d|no_answer)$/;

function failureOf(error: unknown): Failure {
  const code = codeOf(error);
  const text = textOf(error);
  const refusal = refusals.find(([pattern]) => pattern.test(code));
  if (refusal !== undefined) {
    const detail = code === 'tls_file_unreadable' ? `: ${text}` : '';
    return { kind: 'refused', reason: `${refusal[1]}${detail} (${code})`, code };
  }
  if (/does not support SSL/i.test(text)) return { kind: 'refused', reason: noTls, code: 'no_tls' };
  if (code === '81') {
    return { kind: 'away', reason: 'it has no such database yet; `padron migrate` makes it (81)', code };
  }
  if (code === 'ECONNRESET') {
    const reason = 'it closed the connection; it may be restarting, or may refuse our client certificate (ECONNRESET)';
    return { kind: 'away', reason, code };
  }
  if (awayCodes.test(code) || /timeout|terminated|hang up/i.test(text)) {
    return { kind: 'away', reason: `it does not answer (${code === '' ? text : code})`, code: code || 'no_answer' };
  }
  return { kind: 'away', reason: `${text}${code === '' ? '' : ` (${code})`}`, code: code || 'unknown' };
}

/** The innermost code. Clients wrap the connection's error, and only the innermost one says why. */
function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return '';
  const { cause, errors, code, status } = error as Error & { errors?: unknown[]; code?: unknown; status?: unknown };
  const inner = [cause, ...(errors ?? [])].map(codeOf).find((found) => found !== '');
  if (inner !== undefined) return inner;
  if (typeof status === 'number') return `http_${status}`;
  // gRPC's codes are numbers. ClickHouse's are digits in a text.
  return typeof code === 'number' ? `grpc_${code}` : typeof code === 'string' ? code : '';
}

const longestText = 200;

/** The error's message on one line. Users and passwords of URLs are left out. */
function textOf(error: unknown): string {
  const text = error instanceof Error ? error.message || error.name : String(error);
  return text
    .replace(/\/\/[^\s/@]*@/g, '//')
    .replace(/\s+/g, ' ')
    .slice(0, longestText);
}
