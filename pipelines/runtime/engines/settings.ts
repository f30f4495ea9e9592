import { X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import { databaseAddress, sslModes } from './database-url.ts';
import { kafkaSettingProblems } from './kafka-settings.ts';
import { readTlsFiles, type TlsFiles } from './tls.ts';

/**
 * Returns what is wrong between settings of one engine, which a schema of single settings cannot express: one line for
 * each problem, with the names of the settings and without their values. The settings of all engines end alike.
 */
export function settingProblems(configuration: unknown): string[] {
  const settings = configuration as Record<string, unknown>;
  const isSet = (name: string) => settings[name] !== undefined;
  const problems: string[] = [];
  const needs = (ending: string, other: string) => {
    for (const name of Object.keys(settings)) {
      const wanted = name.slice(0, -ending.length) + other;
      if (name.endsWith(ending) && isSet(name) && !isSet(wanted)) problems.push(`${wanted}: is needed beside ${name}`);
    }
  };
  needs('_CERT_FILE', '_KEY_FILE');
  needs('_KEY_FILE', '_CERT_FILE');
  needs('_USERNAME', '_PASSWORD');
  needs('_PASSWORD', '_USERNAME');
  // Without this, a forgotten TEMPORAL_TLS would send the API key in plain text.
  const needsTls = Object.keys(settings).find((name) => /^TEMPORAL_(TLS_|API_KEY)/.test(name) && isSet(name));
  if (needsTls !== undefined && settings.TEMPORAL_TLS !== true)
    problems.push(`TEMPORAL_TLS: must be 1 beside ${needsTls}`);
  for (const name of Object.keys(settings).filter((each) => each.endsWith('_USERNAME') && isSet(each))) {
    const address = `${name.slice(0, -'_USERNAME'.length)}_URL`;
    if (/\/\/[^/]*@/.test(String(settings[address])))
      problems.push(`${name}: ${address} also holds a user; leave one out`);
  }
  for (const name of Object.keys(settings).filter((each) => each.endsWith('_TOKEN') && isSet(each))) {
    const user = `${name.slice(0, -'_TOKEN'.length)}_USERNAME`;
    if (isSet(user)) problems.push(`${name}: cannot be set together with ${user}`);
  }
  return [...problems, ...kafkaSettingProblems(settings), ...fileProblems(settings), ...databaseProblems(settings)];
}

const fileEnding = /_(CA|CERT|KEY)_FILE$/;

/** Reads the files of each engine as its client will read them. */
function fileProblems(settings: Record<string, unknown>): string[] {
  const prefixes = new Set(
    Object.keys(settings)
      .filter((name) => fileEnding.test(name) && settings[name] !== undefined)
      .map((name) => name.replace(fileEnding, '')),
  );
  return [...prefixes].flatMap((prefix) => {
    const file = (kind: string) => settings[`${prefix}_${kind}_FILE`] as string | undefined;
    return unusable(`${prefix}_…_FILE`, { ca: file('CA'), cert: file('CERT'), key: file('KEY') });
  });
}

function databaseProblems(settings: Record<string, unknown>): string[] {
  return ['DATABASE_URL', 'MIGRATION_DATABASE_URL'].flatMap((name) => {
    const address = settings[name];
    if (typeof address !== 'string') return [];
    const mode = new URL(address).searchParams.get('sslmode') ?? 'disable';
    if (!sslModes.includes(mode)) return [`${name}: sslmode must be one of ${sslModes.join(', ')}`];
    const { tls } = databaseAddress(address);
    return tls === undefined || tls === 'off' ? [] : unusable(name, tls.files);
  });
}

function unusable(name: string, files: TlsFiles): string[] {
  try {
    const texts = readTlsFiles(files);
    // A context takes a file without any certificate, and would then trust nobody.
    if (texts.ca !== undefined) new X509Certificate(texts.ca);
    createSecureContext(texts);
    return [];
  } catch (error) {
    return [`${name}: ${error instanceof Error ? error.message : String(error)}`];
  }
}
