import { readFileSync } from 'node:fs';
import { Agent, type AgentOptions } from 'node:https';

/** Paths of PEM files with which a client speaks TLS. All are optional; `cert` and `key` go together. */
export interface TlsFiles {
  /** Certificates of the authorities that the client trusts instead of the usual ones. */
  ca?: string | undefined;
  /** The client's own certificate, with the certificates between it and its authority. */
  cert?: string | undefined;
  key?: string | undefined;
}

/** The texts of `TlsFiles`, as options of node:tls. */
export interface TlsTexts {
  ca?: string;
  cert?: string;
  key?: string;
}

/** A file that a setting names and that cannot be read. */
export class TlsFileError extends Error {
  override name = 'TlsFileError';
  readonly code = 'tls_file_unreadable';
}

/**
 * Reads the files as they are now. Clients call this for every new connection, so a rotated certificate needs no
 * restart. The files are small and connections are few, so the read is synchronous.
 * @throws TlsFileError that names the file
 */
export function readTlsFiles(files: TlsFiles): TlsTexts {
  const texts: TlsTexts = {};
  for (const name of ['ca', 'cert', 'key'] as const) {
    const path = files[name];
    if (path === undefined) continue;
    const text = readText(path);
    // Node ignores a file of authorities without any certificate, and then trusts nobody without saying why.
    if (!text.includes('-----BEGIN ')) throw new TlsFileError(`${path} is not a PEM file`);
    texts[name] = text;
  }
  return texts;
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const { code = 'unreadable' } = error as { code?: string };
    throw new TlsFileError(`cannot read ${path} (${code})`);
  }
}

/** An agent for HTTPS that reads its files again for every new connection. */
export class FileAgent extends Agent {
  readonly #files: TlsFiles;

  constructor(files: TlsFiles, options: AgentOptions = {}) {
    // A resumed session would not check the server's certificate again.
    super({ ...options, maxCachedSessions: 0 });
    this.#files = files;
  }

  override createConnection(...[options, callback]: Parameters<Agent['createConnection']>) {
    try {
      return super.createConnection({ ...options, ...readTlsFiles(this.#files) }, callback);
    } catch (error) {
      // The agent also opens connections outside of any call of ours. There, an error that is thrown would end the
      // process.
      process.nextTick(() => callback?.(error as Error, undefined as never));
      return undefined;
    }
  }
}
