import { createRequire } from 'node:module';
import kafkajs, { type AuthenticationProviderArgs, type Authenticator, type Mechanism } from 'kafkajs';
import type { KafkaLogin, TokenLogin } from './connection.ts';
import { TokenError, TokenSource } from './tokens.ts';

type Provider = (args: AuthenticationProviderArgs) => Authenticator;

/**
 * The code of a KafkaJSConnectionError whose message says why there was no login. kafkajs itself would end a running
 * consumer for good after one refused login. As a connection error, it is logged and the login is tried again.
 */
export const loginFailed = 'LOGIN_FAILED';

const require = createRequire(import.meta.url);
/** kafkajs exports its providers only as files (2.2.4, pinned; no release since 2023). */
const providerFiles = { plain: 'plain', 'scram-sha-256': 'scram256', 'scram-sha-512': 'scram512' } as const;

/** The login of a Kafka client, in kafkajs's own form. */
export function saslOf(login: KafkaLogin): Mechanism {
  const { mechanism } = login;
  const provider = mechanism === 'oauthbearer' ? tokenProvider(login) : passwordProvider(login);
  return {
    mechanism,
    authenticationProvider: (args) => ({
      authenticate: async () => {
        try {
          await provider(args).authenticate();
        } catch (error) {
          const message = failureOf(error, mechanism);
          if (message === undefined) throw error;
          const broker = `${args.host}:${args.port}`;
          throw new kafkajs.KafkaJSConnectionError(message, { broker, code: loginFailed });
        }
      },
    }),
  };
}

/** Says why the login failed. Returns undefined if something else failed, such as the connection. */
function failureOf(error: unknown, mechanism: KafkaLogin['mechanism']): string | undefined {
  if (error instanceof TokenError) return error.message;
  const { name, type } = error as Error & { type?: unknown };
  if (name !== 'KafkaJSSASLAuthenticationError' && type !== 'SASL_AUTHENTICATION_FAILED') return undefined;
  const settings = mechanism === 'oauthbearer' ? 'KAFKA_OAUTH_…' : 'KAFKA_SASL_USERNAME, KAFKA_SASL_PASSWORD';
  return `the login by ${mechanism} is refused (${settings})`;
}

function passwordProvider(login: Exclude<KafkaLogin, TokenLogin>): Provider {
  const file = `kafkajs/src/broker/saslAuthenticator/${providerFiles[login.mechanism]}`;
  return (require(file) as (sasl: { username: string; password: string }) => Provider)(login);
}

/**
 * Logs in with a token (RFC 7628). kafkajs's own provider does not read the broker's answer, so a refused token would
 * look accepted and end in a connection that closes without a reason.
 */
function tokenProvider(login: TokenLogin): Provider {
  const tokens = new TokenSource(login);
  return ({ saslAuthenticate }) => ({
    authenticate: async () => {
      const token = await tokens.current();
      const answer = await saslAuthenticate({
        request: { encode: () => withLength(`n,,\u0001auth=Bearer ${token}\u0001\u0001`) },
        response: { decode: (raw) => raw, parse: (raw) => raw.subarray(4).toString('utf8') },
      });
      // The broker answers a good token with nothing, and a bad one with a JSON document about the error.
      if (answer) throw new TokenError('the broker does not accept the token (KAFKA_OAUTH_…)');
    },
  });
}

/** The bytes of a text after their number, as Kafka's protocol writes them. */
function withLength(text: string): Buffer {
  const bytes = Buffer.from(text, 'utf8');
  const length = Buffer.alloc(4);
  length.writeInt32BE(bytes.length);
  return Buffer.concat([length, bytes]);
}
