/** Where outbound HTTP may go. Made once per process from the configuration and passed down. */
export interface EgressPolicy {
  /** Admits loopback and private addresses, any port and local names: for tests and the demo only. */
  allowPrivateTargets: boolean;
  /** PEM text of certificate authorities trusted besides the usual ones. */
  extraCaPem?: string;
  /** Ports admitted while private targets are not; 443 and 8443 when left out (and 80 where http is admitted). */
  allowedPorts?: readonly number[];
  /** Our own public addresses (base URLs): a target there would be a delivery loop. */
  ownBaseUrls?: readonly string[];
  /** Admits http: besides https:. For downloads of publications; never for webhooks. */
  allowHttp?: boolean;
}

export interface EgressLimits {
  /** DNS, TCP and TLS together. */
  connectTimeoutMs: number;
  /** Until the answer's headers are complete, from the moment the request is written. */
  headersTimeoutMs: number;
  /** Between two pieces of the answer's body. */
  bodyIdleTimeoutMs: number;
  /** Sockets to one host at the same time. */
  connectionsPerOrigin: number;
  /** How long an unused socket is kept for the next request to the same host. */
  keepAliveMs: number;
}

const defaultWebhookPorts: readonly number[] = [443, 8443];

/** Why a target is refused. A class only: which address or port it was is never told to the customer. */
export type TargetProblem =
  | 'malformed'
  | 'scheme'
  | 'userinfo'
  | 'port'
  | 'own_host'
  | 'address_not_allowed'
  | 'name_not_resolved';

export function isPortAllowed(port: number, policy: EgressPolicy): boolean {
  if (port < 1 || port > 65_535) return false;
  if (policy.allowPrivateTargets) return true;
  if (policy.allowHttp === true && port === 80) return true;
  return (policy.allowedPorts ?? defaultWebhookPorts).includes(port);
}
