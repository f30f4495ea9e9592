import { z } from 'zod';
import type { TokenLogin } from './connection.ts';

const answerSchema = z.object({ access_token: z.string().min(1), expires_in: z.coerce.number().positive().optional() });

const requestTimeoutMs = 5_000;
/** Lifetime of a token whose answer does not name one. */
const assumedLifetimeSeconds = 60;
/**
 * Least rest of a token's lifetime with which it is used again. kafkajs logs in again 10 s before a login expires, and
 * must then get a new token.
 */
const leastRestMs = 15_000;

/** The token service gave no token, or Kafka does not accept it. The message has no secret. */
export class TokenError extends Error {
  override name = 'TokenError';
}

/** Gets tokens by the grant of client credentials (RFC 6749, section 4.4), and keeps each for half of its lifetime. */
export class TokenSource {
  readonly #login: TokenLogin;
  #token: { value: string; usableUntil: number } | undefined;
  #fetching: Promise<string> | undefined;

  constructor(login: TokenLogin) {
    this.#login = login;
  }

  /** @throws TokenError that names the token service and the reason */
  async current(): Promise<string> {
    if (this.#token !== undefined && Date.now() < this.#token.usableUntil) return this.#token.value;
    // Several connections open at once, and one token serves them all.
    this.#fetching ??= this.#fetch().finally(() => {
      this.#fetching = undefined;
    });
    return this.#fetching;
  }

  async #fetch(): Promise<string> {
    const { tokenUrl, clientId, clientSecret, scope } = this.#login;
    const { origin, pathname } = new URL(tokenUrl);
    const failed = (reason: string) => new TokenError(`the token service at ${origin}${pathname} ${reason}`);
    const askedAt = Date.now();
    let response: Response;
    try {
      response = await fetch(tokenUrl, {
        method: 'POST',
        redirect: 'error',
        signal: AbortSignal.timeout(requestTimeoutMs),
        headers: { authorization: basic(clientId, clientSecret), accept: 'application/json' },
        body: new URLSearchParams({ grant_type: 'client_credentials', ...(scope === undefined ? {} : { scope }) }),
      });
    } catch (error) {
      const { name, cause } = error as Error & { cause?: { code?: string } };
      throw failed(name === 'TimeoutError' ? 'does not answer' : `cannot be reached (${cause?.code ?? name})`);
    }
    if (!response.ok) {
      await response.body?.cancel();
      throw failed(`answered ${response.status}`);
    }
    const parsed = answerSchema.safeParse(await response.json().catch(() => null));
    if (!parsed.success) throw failed('answered without a token');
    const lifetimeMs = (parsed.data.expires_in ?? assumedLifetimeSeconds) * 1000;
    const restMs = Math.max(lifetimeMs / 2, leastRestMs);
    this.#token = { value: parsed.data.access_token, usableUntil: askedAt + lifetimeMs - restMs };
    return this.#token.value;
  }
}

/** Both parts are encoded as in a form before they are joined (RFC 6749, section 2.3.1). */
function basic(clientId: string, clientSecret: string): string {
  const encode = (text: string) => new URLSearchParams({ '': text }).toString().slice(1);
  return `Basic ${Buffer.from(`${encode(clientId)}:${encode(clientSecret)}`).toString('base64')}`;
}
