import type { TextStore } from '../archive/archive.ts';
import { openTexts } from '../archive/open.ts';
import { StreamError } from './ports.ts';
import { type SchemaRegistry, sameSchema } from './schema-registry.ts';

export interface ArchivedSchema {
  id: number;
  schema: string;
}

const ending = '.avsc';

/**
 * The id→schema map, kept beside the change files: records in Kafka name their schema by a number that only the registry
 * can explain. A registry that was lost and filled again may give the same number to another schema; every old record
 * would then be misread, so a start refuses it.
 */
export class SchemaArchive {
  readonly #archiveUrl: string;
  #opened: Promise<TextStore> | undefined;

  constructor(archiveUrl: string) {
    this.#archiveUrl = archiveUrl;
  }

  /** Puts an id's schema once. @throws StreamError `schema_differs` when the id is there with another schema */
  async put(subject: string, id: number, schema: string): Promise<void> {
    const texts = await this.#texts();
    if ((await texts.put(subject, `${id}${ending}`, schema)) === 'stored') return;
    if (!sameSchema((await texts.read(subject, `${id}${ending}`)) ?? 'null', schema)) throw differs(subject, id);
  }

  /** Every schema that was ever put under the subject, by id. */
  async schemasOf(subject: string): Promise<ArchivedSchema[]> {
    const texts = await this.#texts();
    const files = await texts.list(subject);
    const ids = files.filter((file) => file.endsWith(ending)).map((file) => Number.parseInt(file, 10));
    return await Promise.all(
      ids
        .sort((one, other) => one - other)
        .map(async (id) => ({ id, schema: (await texts.read(subject, `${id}${ending}`)) ?? '' })),
    );
  }

  /**
   * Resolves with the subject's schemas.
   * @throws StreamError `schema_differs` when the registry says another schema under an archived id, or none
   */
  async check(registry: SchemaRegistry, subject: string): Promise<ArchivedSchema[]> {
    const archived = await this.schemasOf(subject);
    for (const { id, schema } of archived) {
      const told = await toldOf(registry, subject, id);
      if (told === null || !sameSchema(schema, told)) throw differs(subject, id);
    }
    return archived;
  }

  #texts(): Promise<TextStore> {
    this.#opened ??= openTexts(this.#archiveUrl);
    return this.#opened;
  }
}

/** What the registry says under an id; null when it says nothing. */
export async function toldOf(registry: SchemaRegistry, subject: string, id: number): Promise<string | null> {
  return await registry.textOf(subject, id).catch((error: unknown) => {
    if (error instanceof StreamError && error.code === 'schema_missing') return null;
    throw error;
  });
}

export function differs(subject: string, id: number): StreamError {
  const message =
    `the schema registry and the archive disagree about schema ${id} of ${subject}: ` +
    'records already in Kafka would be misread. An empty registry gets its schemas back by `padron schemas restore`; ' +
    'one with other schemas needs its own storage back, or a new topic prefix.';
  return new StreamError('schema_differs', message, { retryable: false });
}
