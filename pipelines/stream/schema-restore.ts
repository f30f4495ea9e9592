import { Compatibility } from '@confluentinc/schemaregistry/dist/schemaregistry-client.js';
import { StreamError } from './ports.ts';
import { differs, type SchemaArchive, toldOf } from './schema-archive.ts';
import { type SchemaRegistry, sameSchema } from './schema-registry.ts';

/** The registry's calls that only a restoration needs (Confluent's API: modes, registration under a given id). */
export interface SchemaImport {
  setMode(mode: 'IMPORT' | 'READWRITE'): Promise<void>;
  /** Registers under an id where the registry honours one, else under its next number; resolves with the id it has. */
  register(subject: string, schema: string, id: number, version: number): Promise<number>;
  setCompatibility(subject: string, compatibility: Compatibility): Promise<void>;
  /** Removes a subject for good; the ids of its schemas are not given again. */
  remove(subject: string): Promise<void>;
}

export interface RestoredSchema {
  subject: string;
  id: number;
  outcome: 'there' | 'restored';
}

interface Wanted {
  subject: string;
  id: number;
  schema: string;
  version: number;
}

/** Holds the schemas that only use up numbers; gone at the end. */
const fillerSubject = 'padron.restore-value';
/** More numbers than this between two schemas are not filled: such a registry is shared, and needs its own storage back. */
const maxFillers = 10_000;

/**
 * Gives an empty registry the archived schemas of these subjects under the ids that the records in Kafka name. A registry
 * that honours given ids takes them as they are; one that numbers by itself (Apicurio) gets them in the order of their ids,
 * with fillers where numbers are missing. Repeatable: what is there already stays.
 * @throws StreamError `schema_differs` when the registry has, or gives, another schema under an id: nothing is overwritten
 */
export async function restoreSchemas(
  parts: { registry: SchemaRegistry; importing: SchemaImport; archive: SchemaArchive },
  subjects: readonly string[],
): Promise<RestoredSchema[]> {
  const { registry, importing } = parts;
  const wanted = await wantedOf(parts.archive, subjects);
  const restored: RestoredSchema[] = [];
  const missing: Wanted[] = [];
  for (const each of wanted) {
    const told = await toldOf(registry, each.subject, each.id);
    if (told !== null && !sameSchema(told, each.schema)) throw differs(each.subject, each.id);
    if (told === null) missing.push(each);
    else restored.push({ subject: each.subject, id: each.id, outcome: 'there' });
  }
  if (missing.length === 0) return restored;
  await importing.setMode('IMPORT');
  try {
    await importInOrder(importing, missing, restored);
  } finally {
    await importing.remove(fillerSubject);
    await importing.setMode('READWRITE');
  }
  for (const subject of new Set(missing.map((each) => each.subject))) {
    await importing.setCompatibility(subject, Compatibility.FULL_TRANSITIVE);
  }
  return restored;
}

/** In the order of ids; the versions of a subject in the order of its own. */
async function wantedOf(archive: SchemaArchive, subjects: readonly string[]): Promise<Wanted[]> {
  const wanted: Wanted[] = [];
  for (const subject of subjects) {
    const schemas = await archive.schemasOf(subject);
    wanted.push(...schemas.map(({ id, schema }, index) => ({ subject, id, schema, version: index + 1 })));
  }
  return wanted.sort((one, other) => one.id - other.id);
}

async function importInOrder(importing: SchemaImport, missing: readonly Wanted[], restored: RestoredSchema[]) {
  let last = 0;
  let honoursIds = false;
  let fillers = 0;
  for (const { subject, id, schema, version } of missing) {
    while (!honoursIds && last + 1 < id) {
      fillers += 1;
      if (fillers > maxFillers) throw notEmpty(subject, id, last);
      const given = await importing.register(fillerSubject, fillerSchema(fillers), id - 1, fillers);
      if (given >= id) throw notEmpty(subject, id, given);
      // A registry that numbers by itself would have given the next number.
      honoursIds = given !== last + 1 && given === id - 1;
      last = given;
    }
    const given = await importing.register(subject, schema, id, version);
    // Dying anywhere here: the repeat finds what is there and goes on with the rest.
    if (given !== id) throw notEmpty(subject, id, given);
    last = id;
    restored.push({ subject, id, outcome: 'restored' });
  }
}

function fillerSchema(number: number): string {
  return JSON.stringify({ type: 'record', name: `Filler${number}`, namespace: 'padron.restore', fields: [] });
}

function notEmpty(subject: string, id: number, given: number): StreamError {
  const message =
    `schema ${id} of ${subject} cannot get its number back: the registry is at ${given}. ` +
    'Give it an empty storage (or its own, from a backup) and run this again.';
  return new StreamError('schema_differs', message, { retryable: false });
}
