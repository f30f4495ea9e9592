import { errors } from 'undici';
import type { TargetProblem } from './policy.ts';

/** The error of a request that our checks refuse. Its message holds no address, so it may be logged and stored. */
export class EgressRefused extends Error {
  override name = 'EgressRefused';
  readonly code = 'egress_refused';
  readonly problem: TargetProblem;

  constructor(problem: TargetProblem) {
    super(`outbound request refused: ${problem}`);
    this.problem = problem;
  }
}

/** Why a request got no answer. A customer may see this class: it contains no address, no port and no error text. */
export type NetworkFailure =
  | TargetProblem
  | 'connect_timeout'
  | 'no_connection'
  | 'connection_lost'
  | 'timeout'
  | 'certificate_expired'
  | 'certificate_untrusted'
  | 'certificate_wrong_name'
  | 'tls_failed'
  | 'answer_malformed';

const untrusted = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'CERT_UNTRUSTED',
  'CERT_REVOKED',
  'CERT_SIGNATURE_FAILURE',
  'CERT_CHAIN_TOO_LONG',
  'INVALID_CA',
  'INVALID_PURPOSE',
  'PATH_LENGTH_EXCEEDED',
]);

/** Finds the class of an error of undici, node:net, node:tls or node:dns. Unknown errors count as lost connections. */
export function networkFailure(error: unknown): NetworkFailure {
  if (error instanceof EgressRefused) return error.problem;
  // If node:net tried several addresses, there is an error for each. Take our own refusal, or else the first error.
  if (error instanceof AggregateError && error.errors.length > 0) {
    return networkFailure(error.errors.find((each) => each instanceof EgressRefused) ?? error.errors[0]);
  }
  if (!(error instanceof Error)) return 'connection_lost';
  // undici's error has no code when the answer's first line belongs to another protocol.
  if (error instanceof errors.HTTPParserError) return 'answer_malformed';
  const code = String((error as Error & { code?: unknown }).code ?? '');
  const known = failureOfCode(code);
  if (known !== null) return known;
  return error.cause === undefined ? 'connection_lost' : networkFailure(error.cause);
}

function failureOfCode(code: string): NetworkFailure | null {
  if (code === 'CERT_HAS_EXPIRED' || code === 'CERT_NOT_YET_VALID') return 'certificate_expired';
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') return 'certificate_wrong_name';
  if (untrusted.has(code)) return 'certificate_untrusted';
  if (/^ERR_(SSL|TLS)_/.test(code) || code === 'EPROTO') return 'tls_failed';
  if (/^(ENOTFOUND|EAI_|ENODATA|ESERVFAIL|EREFUSED)/.test(code)) return 'name_not_resolved';
  if (code === 'UND_ERR_CONNECT_TIMEOUT' || code === 'ETIMEDOUT') return 'connect_timeout';
  if (/^(ECONNREFUSED|EHOSTUNREACH|ENETUNREACH|EADDRNOTAVAIL)$/.test(code)) return 'no_connection';
  if (/^(UND_ERR_HEADERS_TIMEOUT|UND_ERR_BODY_TIMEOUT|UND_ERR_ABORTED|ABORT_ERR)$/.test(code)) return 'timeout';
  if (/^(HPE_|UND_ERR_HEADERS_OVERFLOW|UND_ERR_RES_|UND_ERR_RESPONSE)/.test(code)) return 'answer_malformed';
  if (/^(ECONNRESET|EPIPE|UND_ERR_SOCKET)$/.test(code)) return 'connection_lost';
  return null;
}
