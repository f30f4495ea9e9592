import { StreamError } from './ports.ts';
import type { SchemaImport } from './schema-restore.ts';

const requestTimeoutMs = 10_000;
const contentType = 'application/vnd.schemaregistry.v1+json';

/** Confluent's API over HTTP, for the calls that its client does not have. */
export function connectSchemaImport(url: string): SchemaImport {
  const ask = async (method: string, path: string, body?: unknown): Promise<Response> => {
    const response = await fetch(`${url}${path}`, {
      method,
      headers: { 'content-type': contentType },
      signal: AbortSignal.timeout(requestTimeoutMs),
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return response;
  };
  const expectOk = async (what: string, response: Response): Promise<Response> => {
    if (response.ok) return response;
    const text = (await response.text()).slice(0, 300);
    throw new StreamError('schema_missing', `the registry refuses to ${what}: ${response.status} ${text}`, {
      retryable: response.status >= 500,
    });
  };
  const subjectPath = (subject: string) => `/subjects/${encodeURIComponent(subject)}`;
  return {
    async setMode(mode) {
      await expectOk(`change its mode to ${mode}`, await ask('PUT', '/mode', { mode }));
    },
    async register(subject, schema, id, version) {
      const body = { schema, schemaType: 'AVRO', id, version };
      const response = await expectOk(`take ${subject}`, await ask('POST', `${subjectPath(subject)}/versions`, body));
      return ((await response.json()) as { id: number }).id;
    },
    async setCompatibility(subject, compatibility) {
      const body = { compatibility };
      await expectOk(`set ${subject}`, await ask('PUT', `/config/${encodeURIComponent(subject)}`, body));
    },
    async remove(subject) {
      // First hidden, then gone; neither is an error where it is not there.
      for (const end of ['', '?permanent=true']) await ask('DELETE', `${subjectPath(subject)}${end}`);
    },
  };
}
