const fileSettings = ['KAFKA_TLS_CA_FILE', 'KAFKA_TLS_CERT_FILE', 'KAFKA_TLS_KEY_FILE'] as const;
const passwordSettings = ['KAFKA_SASL_USERNAME', 'KAFKA_SASL_PASSWORD'] as const;
const tokenSettings = ['KAFKA_OAUTH_TOKEN_URL', 'KAFKA_OAUTH_CLIENT_ID', 'KAFKA_OAUTH_CLIENT_SECRET'] as const;
type TextSetting = (typeof fileSettings | typeof passwordSettings | typeof tokenSettings)[number] | 'KAFKA_OAUTH_SCOPE';

/** The settings of a connection as `kafkaBlock` (config.ts) explains and parses them. */
export interface KafkaSettings extends Partial<Record<TextSetting, string | undefined>> {
  KAFKA_BROKERS: string;
  KAFKA_TLS: boolean;
  KAFKA_SASL_MECHANISM?: 'plain' | 'scram-sha-256' | 'scram-sha-512' | 'oauthbearer' | undefined;
}

/** Returns a line for each setting that is missing beside another one. The lines hold no values. */
export function kafkaSettingProblems(settings: Partial<KafkaSettings>): string[] {
  const isSet = (name: TextSetting) => settings[name] !== undefined;
  const file = fileSettings.find(isSet);
  // Without this check, a forgotten KAFKA_TLS would send the password in plain text.
  const problems = file === undefined || settings.KAFKA_TLS ? [] : [`KAFKA_TLS: must be 1 beside ${file}`];
  const { KAFKA_SASL_MECHANISM: mechanism } = settings;
  const login = [...passwordSettings, ...tokenSettings].find(isSet);
  if (mechanism === undefined && login !== undefined) {
    problems.push(`KAFKA_SASL_MECHANISM: is needed beside ${login}`);
  }
  const needed = mechanism === undefined ? [] : mechanism === 'oauthbearer' ? tokenSettings : passwordSettings;
  for (const name of needed) {
    if (!isSet(name)) problems.push(`${name}: is needed beside KAFKA_SASL_MECHANISM=${mechanism}`);
  }
  return problems;
}
