import { z } from 'zod';
import type { KafkaSettings } from '../engines/kafka-settings.ts';

const passwordLogin = z.object({
  mechanism: z.enum(['plain', 'scram-sha-256', 'scram-sha-512']),
  username: z.string(),
  password: z.string(),
});
const tokenLogin = z.object({
  mechanism: z.literal('oauthbearer'),
  tokenUrl: z.string(),
  clientId: z.string(),
  clientSecret: z.string(),
  scope: z.string().optional(),
});

/** How clients reach the brokers. It holds secrets. The producer's process gets it in its job. */
export const kafkaConnectionSchema = z.object({
  /** Brokers as host:port, separated by commas. */
  brokers: z.string(),
  /** Paths of PEM files (`TlsFiles`). Without it, connections are plain text. */
  tls: z.object({ ca: z.string().optional(), cert: z.string().optional(), key: z.string().optional() }).optional(),
  login: z.discriminatedUnion('mechanism', [passwordLogin, tokenLogin]).optional(),
});
export type KafkaConnection = z.infer<typeof kafkaConnectionSchema>;
export type KafkaLogin = NonNullable<KafkaConnection['login']>;
export type TokenLogin = z.infer<typeof tokenLogin>;

/** The connection that the settings describe. Configurations are parsed first, so the settings fit together. */
export function kafkaConnection(settings: KafkaSettings): KafkaConnection {
  const { KAFKA_TLS_CA_FILE: ca, KAFKA_TLS_CERT_FILE: cert, KAFKA_TLS_KEY_FILE: key } = settings;
  const login = loginOf(settings);
  return {
    brokers: settings.KAFKA_BROKERS,
    ...(settings.KAFKA_TLS ? { tls: { ca, cert, key } } : {}),
    ...(login === undefined ? {} : { login }),
  };
}

function loginOf(settings: KafkaSettings): KafkaLogin | undefined {
  const { KAFKA_SASL_MECHANISM: mechanism } = settings;
  if (mechanism === undefined) return undefined;
  if (mechanism !== 'oauthbearer') {
    return { mechanism, username: settings.KAFKA_SASL_USERNAME!, password: settings.KAFKA_SASL_PASSWORD! };
  }
  return {
    mechanism,
    tokenUrl: settings.KAFKA_OAUTH_TOKEN_URL!,
    clientId: settings.KAFKA_OAUTH_CLIENT_ID!,
    clientSecret: settings.KAFKA_OAUTH_CLIENT_SECRET!,
    scope: settings.KAFKA_OAUTH_SCOPE,
  };
}
