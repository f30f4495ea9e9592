import { type AvroCursor, UndecodableRecord } from './record.ts';

type Skip = (cursor: AvroCursor) => void;

/** Every changes schema begins with these, whatever its version: an envelope that readers rely on without decoding. */
const leading = ['edition', 'op', 'seq', 'ruc'];

interface Field {
  name: string;
  type: unknown;
}

/**
 * Where the fields of a register's change end, from the schema it was written with: steps over a record without making
 * objects. It knows the types that our schemas have, and refuses any other when it is made.
 */
export class RecordLayout {
  readonly #rest: readonly Skip[];

  /** @param schema the writer's, as parsed JSON */
  constructor(schema: unknown) {
    const { fields } = schema as { fields: Field[] };
    const names = fields.slice(0, leading.length).map(({ name }) => name);
    if (names.join() !== leading.join()) throw new Error(`a changes schema begins with ${names.join()}`);
    const named = new Map<string, Skip>();
    this.#rest = fields.slice(leading.length).map(({ type }) => skipOf(type, named));
  }

  /**
   * Moves the cursor from after the key to the record's end.
   * @throws UndecodableRecord where the record is longer than its bytes
   */
  skipAfterKey(cursor: AvroCursor): void {
    for (const skip of this.#rest) skip(cursor);
    if (cursor.at > cursor.end) throw new UndecodableRecord('longer than its block');
  }
}

const skipLong: Skip = (cursor) => void cursor.long();
const skipString: Skip = (cursor) => {
  const length = cursor.stringLength();
  cursor.at += length;
};

function skipOf(type: unknown, named: Map<string, Skip>): Skip {
  if (Array.isArray(type)) return skipOfUnion(type, named);
  if (typeof type === 'string') {
    if (type === 'long' || type === 'int') return skipLong;
    if (type === 'string') return skipString;
    const known = named.get(type);
    if (known !== undefined) return known;
  } else {
    const { type: kind, name, fields } = type as { type: unknown; name?: string; fields?: Field[] };
    if (kind === 'enum') return skipLong;
    if (kind === 'record' && name !== undefined && fields !== undefined) return skipOfRecord(name, fields, named);
    if (typeof kind === 'string') return skipOf(kind, named);
  }
  throw new Error(`a changes schema has a type that is not read: ${JSON.stringify(type)}`);
}

/** Ours are null or one type, null first. */
function skipOfUnion(branches: readonly unknown[], named: Map<string, Skip>): Skip {
  if (branches.length !== 2 || branches[0] !== 'null') throw new Error('a union that is not null or one type');
  const skip = skipOf(branches[1], named);
  return (cursor) => {
    if (cursor.isThere()) skip(cursor);
  };
}

function skipOfRecord(name: string, fields: readonly Field[], named: Map<string, Skip>): Skip {
  const skips = fields.map((field) => skipOf(field.type, named));
  const cells = skips.length;
  const skip: Skip = skips.every((one) => one === skipString)
    ? (cursor) => {
        for (let cell = 0; cell < cells; cell += 1) skipString(cursor);
      }
    : (cursor) => {
        for (const one of skips) one(cursor);
      };
  named.set(name, skip);
  return skip;
}
