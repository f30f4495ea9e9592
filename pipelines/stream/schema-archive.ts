import { Compatibility } from '@confluentinc/schemaregistry/dist/schemaregistry-client.js';
import type { TextStore } from '../archive/archive.ts';
import { openTexts } from '../archive/open.ts';
import { StreamError } from './kafka.ts';
import { askRegistry, type RegistryAccess, type SchemaRegistry, sameSchema } from './registry.ts';

export interface ArchivedSchema {
  id: number;
  schema: string;
}

const ending = '.avsc';

/**
 * Archives the schema of every registry id beside the change files. A record in Kafka names its schema only by this id.
 * A registry that was lost and filled again may give the id to another schema. Every old record would then be misread.
 * So every process compares the registry with this archive when it starts.
 */
export class SchemaArchive {
  readonly #archiveUrl: string;
  #opened: Promise<TextStore> | undefined;

  constructor(archiveUrl: string) {
    this.#archiveUrl = archiveUrl;
  }

  /**
   * Archives the schema under its id. A repeat changes nothing.
   * @throws StreamError `schema_differs` if the archive has another schema under this id
   */
  async put(subject: string, id: number, schema: string): Promise<void> {
    const texts = await this.#texts();
    if ((await texts.put(subject, `${id}${ending}`, schema)) === 'stored') return;
    if (!sameSchema((await texts.read(subject, `${id}${ending}`)) ?? 'null', schema)) throw differs(subject, id);
  }

  /** Every schema that was ever archived under the subject, in order of id. */
  async schemasOf(subject: string): Promise<ArchivedSchema[]> {
    const texts = await this.#texts();
    const files = await texts.list(subject);
    const ids = files.filter((file) => file.endsWith(ending)).map((file) => Number.parseInt(file, 10));
    ids.sort((one, other) => one - other);
    return Promise.all(ids.map(async (id) => ({ id, schema: (await texts.read(subject, `${id}${ending}`)) ?? '' })));
  }

  /**
   * Compares the registry with the archive and resolves with the subject's archived schemas.
   * @throws StreamError `schema_differs` if the registry has no schema or another schema under an archived id
   */
  async check(registry: SchemaRegistry, subject: string): Promise<ArchivedSchema[]> {
    const archived = await this.schemasOf(subject);
    for (const { id, schema } of archived) {
      const registered = await registeredSchema(registry, subject, id);
      if (registered === null || !sameSchema(schema, registered)) throw differs(subject, id);
    }
    return archived;
  }

  #texts(): Promise<TextStore> {
    this.#opened ??= openTexts(this.#archiveUrl, 'schemas');
    return this.#opened;
  }
}

/** Resolves with the schema that the registry has under an id, or null if it has none. */
export async function registeredSchema(registry: SchemaRegistry, subject: string, id: number): Promise<string | null> {
  return await registry.textOf(subject, id).catch((error: unknown) => {
    if (error instanceof StreamError && error.code === 'schema_missing') return null;
    throw error;
  });
}

function differs(subject: string, id: number): StreamError {
  const message =
    `the schema registry and the archive disagree about schema ${id} of ${subject}: ` +
    'records already in Kafka would be misread. An empty registry gets its schemas back by `padron schemas restore`; ' +
    'one with other schemas needs its own storage back, or a new topic prefix.';
  return new StreamError('schema_differs', message);
}

export type SchemaImport = ReturnType<typeof connectSchemaImport>;

/** Makes the calls of the registry's HTTP API that only a restoration needs and Confluent's client does not have. */
export function connectSchemaImport(target: RegistryAccess | string) {
  const access = typeof target === 'string' ? { url: target } : target;
  const request = (method: string, path: string, body?: unknown) => askRegistry(access, method, path, body);
  const expectOk = async <Answer extends { status: number; text: string }>(what: string, answer: Answer) => {
    if (answer.status >= 200 && answer.status < 300) return answer;
    const message = `the registry refuses to ${what}: ${answer.status} ${answer.text.slice(0, 300)}`;
    throw new StreamError('schema_missing', message, { retryable: answer.status >= 500 });
  };
  const subjectPath = (subject: string) => `/subjects/${encodeURIComponent(subject)}`;
  return {
    async setMode(mode: 'IMPORT' | 'READWRITE'): Promise<void> {
      await expectOk(`change its mode to ${mode}`, await request('PUT', '/mode', { mode }));
    },
    /** Registers a schema under `id`. A registry that ignores `id` uses its next id. Resolves with the schema's id. */
    async register(subject: string, schema: string, id: number, version: number): Promise<number> {
      const body = { schema, schemaType: 'AVRO', id, version };
      const path = `${subjectPath(subject)}/versions`;
      const response = await expectOk(`take ${subject}`, await request('POST', path, body));
      return (JSON.parse(response.text) as { id: number }).id;
    },
    async setCompatibility(subject: string, compatibility: Compatibility): Promise<void> {
      const body = { compatibility };
      await expectOk(`set ${subject}`, await request('PUT', `/config/${encodeURIComponent(subject)}`, body));
    },
    /** Removes a subject and its schemas for good. The registry does not assign the ids of these schemas again. */
    async remove(subject: string): Promise<void> {
      // The first call only hides the subject, and the second removes it. A subject that does not exist (404), or that
      // an earlier attempt has hidden, is as wanted.
      for (const end of ['', '?permanent=true']) {
        const response = await request('DELETE', `${subjectPath(subject)}${end}`);
        if (response.status !== 404) await expectOk(`remove ${subject}`, response);
      }
    },
  };
}

interface Wanted extends ArchivedSchema {
  subject: string;
  version: number;
}

/** The subject of filler schemas, which only use up registry ids (see `restoreSchemas`). It is removed at the end. */
const fillerSubject = 'padron.restore-value';
/**
 * Largest number of filler schemas in one restoration. A registry that other programs use too may need more. Then the
 * registry's own storage must be restored.
 */
const maxFillers = 10_000;

/**
 * Gives an empty registry the archived schemas of these subjects, each under the id that the records in Kafka name. A
 * repeat leaves the schemas that are there already. Some registries only assign ids by themselves (Apicurio). Such a
 * registry gets the schemas in order of id, and a filler schema for each missing id.
 * @throws StreamError `schema_differs` if the registry has another schema under an archived id; it is not overwritten
 * @throws StreamError `schema_differs` if the registry cannot give a schema its archived id
 */
export async function restoreSchemas(
  dependencies: { registry: SchemaRegistry; importing: SchemaImport; archive: SchemaArchive },
  subjects: readonly string[],
) {
  const { registry, importing } = dependencies;
  const wanted = await wantedOf(dependencies.archive, subjects);
  const there: Wanted[] = [];
  const missing: Wanted[] = [];
  for (const each of wanted) {
    const registered = await registeredSchema(registry, each.subject, each.id);
    if (registered !== null && !sameSchema(registered, each.schema)) throw differs(each.subject, each.id);
    (registered === null ? missing : there).push(each);
  }
  const rows = [
    ...there.map(({ subject, id }) => ({ subject, id, outcome: 'there' as const })),
    ...missing.map(({ subject, id }) => ({ subject, id, outcome: 'restored' as const })),
  ];
  if (missing.length === 0) return rows;
  await importing.setMode('IMPORT');
  try {
    await importInOrder(importing, missing);
  } finally {
    await importing.remove(fillerSubject).finally(() => importing.setMode('READWRITE'));
  }
  for (const subject of new Set(missing.map((each) => each.subject))) {
    await importing.setCompatibility(subject, Compatibility.FULL_TRANSITIVE);
  }
  return rows;
}

/** Resolves with all archived schemas in order of id. The versions of a subject are numbered in the same order. */
async function wantedOf(archive: SchemaArchive, subjects: readonly string[]): Promise<Wanted[]> {
  const wanted: Wanted[] = [];
  for (const subject of subjects) {
    const schemas = await archive.schemasOf(subject);
    wanted.push(...schemas.map(({ id, schema }, index) => ({ subject, id, schema, version: index + 1 })));
  }
  return wanted.sort((one, other) => one.id - other.id);
}

async function importInOrder(importing: SchemaImport, missing: readonly Wanted[]): Promise<void> {
  let last = 0;
  let honoursIds = false;
  let fillers = 0;
  // If the process dies in this loop, a repeat of the restoration keeps the registered schemas and adds the others.
  for (const { subject, id, schema, version } of missing) {
    while (!honoursIds && last + 1 < id) {
      fillers += 1;
      if (fillers > maxFillers) throw notEmpty(subject, id, last);
      const given = await importing.register(fillerSubject, fillerSchema(fillers), id - 1, fillers);
      if (given >= id) throw notEmpty(subject, id, given);
      // A registry that ignores the wanted id (`id - 1`) gives `last + 1`. If both numbers are equal, the answer does
      // not show whether the registry honours ids.
      honoursIds = given !== last + 1 && given === id - 1;
      last = given;
    }
    const given = await importing.register(subject, schema, id, version);
    if (given !== id) throw notEmpty(subject, id, given);
    last = id;
  }
}

function fillerSchema(number: number): string {
  return JSON.stringify({ type: 'record', name: `Filler${number}`, namespace: 'padron.restore', fields: [] });
}

function notEmpty(subject: string, id: number, given: number): StreamError {
  const message =
    `schema ${id} of ${subject} cannot get its number back: the registry is at ${given}. ` +
    'Give it an empty storage (or its own, from a backup) and run this again.';
  return new StreamError('schema_differs', message);
}
