import { link, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { syncFile, syncFolder } from '../archive/durable.ts';
import { StreamError } from './ports.ts';
import { type SchemaRegistry, sameSchema } from './schema-registry.ts';

/**
 * The id→schema map, kept beside the change files: records in Kafka name their schema by a number that only the registry
 * can explain. A registry that was lost and filled again may give the same number to another schema; every old record
 * would then be misread, so a start refuses it.
 */
export class SchemaArchive {
  readonly #folder: string;

  constructor(archiveUrl: string) {
    this.#folder = join(fileURLToPath(archiveUrl), 'schemas');
  }

  /** Puts an id's schema once. @throws StreamError `schema_differs` when the id is there with another schema */
  async put(subject: string, id: number, schema: string): Promise<void> {
    const target = this.#path(subject, id);
    await mkdir(dirname(target), { recursive: true });
    const incoming = `${target}.${process.pid}.incoming`;
    await writeFile(incoming, schema);
    await syncFile(incoming);
    try {
      // Dying before this line leaves a file that nobody reads; the link gives it its name only if that is still free.
      await link(incoming, target);
      await syncFolder(dirname(target));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      if (!sameSchema(await readFile(target, 'utf8'), schema)) throw differs(subject, id);
    } finally {
      await rm(incoming, { force: true });
    }
  }

  /** Every id that was ever put under the subject. */
  async idsOf(subject: string): Promise<number[]> {
    const names = await readdir(join(this.#folder, subject)).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return [];
      throw error;
    });
    return names.filter((name) => name.endsWith('.avsc')).map((name) => Number.parseInt(name, 10));
  }

  /** @throws StreamError `schema_differs` when the registry says another schema under an archived id, or none */
  async check(registry: SchemaRegistry, subject: string): Promise<void> {
    for (const id of await this.idsOf(subject)) {
      const kept = await readFile(this.#path(subject, id), 'utf8');
      const told = await registry.textOf(subject, id).catch((error: unknown) => {
        if (error instanceof StreamError && error.code === 'schema_missing') return null;
        throw error;
      });
      if (told === null || !sameSchema(kept, told)) throw differs(subject, id);
    }
  }

  #path(subject: string, id: number): string {
    return join(this.#folder, subject, `${id}.avsc`);
  }
}

function differs(subject: string, id: number): StreamError {
  const message =
    `the schema registry and the archive disagree about schema ${id} of ${subject}: ` +
    'records already in Kafka would be misread. Restore the registry’s own storage, or start with a new topic prefix.';
  return new StreamError('schema_differs', message, { retryable: false });
}
