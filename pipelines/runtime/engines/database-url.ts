import type { ClientConfig } from 'pg';
import { readTlsFiles, type TlsFiles } from './tls.ts';

/** What the parameters of a database's address say about TLS. */
export interface DatabaseTls {
  files: TlsFiles;
  /** False accepts any certificate (`sslmode=no-verify`). */
  verifies: boolean;
}

export interface DatabaseAddress {
  /** The address without its parameters about TLS. */
  url: string;
  /** Undefined where the address says nothing about TLS: then pg decides, by default for plain text. */
  tls?: DatabaseTls | 'off';
}

/**
 * Values of `sslmode`. All that ask for TLS check the certificate and the name, as `verify-full` does, but for
 * `no-verify`.
 */
export const sslModes = ['disable', 'no-verify', 'prefer', 'require', 'verify-ca', 'verify-full'];

/**
 * Takes the parameters about TLS out of an address, because pg reads their files while it makes a connection in the
 * background, where a missing file would end the process.
 */
export function databaseAddress(databaseUrl: string): DatabaseAddress {
  const url = new URL(databaseUrl);
  const take = (name: string) => {
    const value = url.searchParams.get(name) ?? undefined;
    url.searchParams.delete(name);
    return value === '' ? undefined : value;
  };
  const mode = take('sslmode');
  const files: TlsFiles = { ca: take('sslrootcert'), cert: take('sslcert'), key: take('sslkey') };
  const hasFiles = Object.values(files).some((file) => file !== undefined);
  if (mode === undefined && !hasFiles) return { url: databaseUrl };
  if (mode === 'disable') return { url: url.href, tls: 'off' };
  return { url: url.href, tls: { files, verifies: mode !== 'no-verify' } };
}

/**
 * What pg needs for one connection, with the TLS files as they are now.
 * @throws TlsFileError
 */
export function connectionOf(databaseUrl: string): ClientConfig {
  const { url, tls } = databaseAddress(databaseUrl);
  if (tls === undefined) return { connectionString: url };
  if (tls === 'off') return { connectionString: url, ssl: false };
  return { connectionString: url, ssl: { ...readTlsFiles(tls.files), rejectUnauthorized: tls.verifies } };
}
