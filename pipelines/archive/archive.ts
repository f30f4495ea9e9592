import type { Readable } from 'node:stream';
import { isRegisterName, type RegisterName } from '../../schemas/registers.ts';

/**
 * Publications and `rejects` are kept as evidence. For a publication, `rejects` lists its rejected lines. For a
 * correction, it lists the rows of the undone edition that stay as they are, because they changed again later.
 * `changes` and `overlays` (see `overlaySchema`) define a register's state.
 */
const objectKinds = ['publications', 'changes', 'overlays', 'rejects'] as const;

/** An object is named by the hash of its bytes, so one name can only ever hold one content. */
export interface ObjectName {
  register: RegisterName;
  kind: (typeof objectKinds)[number];
  sha256: string;
}

/**
 * Keeps the objects of `objectKinds`. An object is put once and never changed. Only raw publications are ever removed,
 * when their retention ends. The catalogue (PostgreSQL) may name an object only after `put`, which makes the object
 * durable.
 */
export interface Archive {
  /**
   * Moves a finished local file into the archive. If the archive already has the object, `put` only removes the file.
   * @throws ArchiveError `hash_mismatch` when the file's bytes do not have the hash of the name
   */
  put(name: ObjectName, file: string): Promise<'stored' | 'already_there'>;
  /** Size in bytes, or null when there is no such object. */
  size(name: ObjectName): Promise<number | null>;
  /**
   * Path of a local file that holds the object. Callers must not change the file.
   * @throws ArchiveError `not_found`, or `hash_mismatch` when the object's bytes do not have the hash of its name
   */
  localFile(name: ObjectName): Promise<string>;
  /** The object's bytes. @throws ArchiveError `not_found` */
  read(name: ObjectName): Promise<Readable>;
  /** Removes a raw publication if it is there. @throws ArchiveError `name_invalid` for any other kind */
  remove(name: ObjectName): Promise<void>;
  /** Local path for a file that is still being written. The file survives a restart. */
  incomingFile(label: string): Promise<string>;
  /** Removes unfinished files that were not changed for this long. */
  discardIncoming(olderThanMs: number): Promise<void>;
}

/**
 * Keeps small texts beside the objects: schemas under their ids in the schema registry, and the catalogue's facts about
 * editions. A text is named by a folder and a file.
 */
export interface TextStore {
  /** Stores a text durably. If a text with this name is there already, it stays as it is. */
  put(folder: string, file: string, text: string): Promise<'stored' | 'already_there'>;
  /** Returns null if there is no text with this name. */
  read(folder: string, file: string): Promise<string | null>;
  /** The files of a folder, in no order. A folder that does not exist has no files. */
  list(folder: string): Promise<string[]>;
}

/**
 * `refused`: the store rejects our credentials or our bucket, so a repeat fails too. `unavailable`: the store does not
 * answer or reports another error, and a repeat may succeed.
 */
type ArchiveErrorCode = 'not_found' | 'hash_mismatch' | 'name_invalid' | 'refused' | 'unavailable';

export class ArchiveError extends Error {
  override name = 'ArchiveError';
  readonly code: ArchiveErrorCode;
  readonly retryable: boolean;

  constructor(code: ArchiveErrorCode, message: string) {
    super(message);
    this.code = code;
    this.retryable = code === 'unavailable';
  }
}

/** An object's key is `<register>/<kind>/<sha256>`, the same in every store. @throws ArchiveError `name_invalid` */
export function objectKey({ register, kind, sha256 }: ObjectName): string {
  if (!isRegisterName(register) || !objectKinds.includes(kind) || !/^[0-9a-f]{64}$/.test(sha256)) {
    throw new ArchiveError('name_invalid', 'an object is named by register, kind and a sha256 in lower-case hex');
  }
  return `${register}/${kind}/${sha256}`;
}

/**
 * Returns the key of an object that may be removed, which must be a raw publication.
 * @throws ArchiveError `name_invalid` for an object of another kind
 */
export function removableKey(name: ObjectName): string {
  if (name.kind !== 'publications') throw new ArchiveError('name_invalid', 'only raw publications can be removed');
  return objectKey(name);
}

export function notFound(name: ObjectName): ArchiveError {
  return new ArchiveError('not_found', `the archive has no ${objectKey(name)}`);
}

/** Whether an object is lost or damaged. Then nothing helps until somebody brings the right file back. */
export function isLost(error: unknown): error is ArchiveError {
  return error instanceof ArchiveError && (error.code === 'not_found' || error.code === 'hash_mismatch');
}

/** What an operator does about an object for which `isLost` is true. */
export const lostRemedy = 'bring the right file back (the last part of its name is the SHA-256 of its bytes)';

/** A text's key is `<folder>/<file>`, both of letters, digits and `_ . -`. @throws ArchiveError `name_invalid` */
export function textKey(folder: string, file: string): string {
  const isName = (text: string) => /^[A-Za-z0-9_.-]+$/.test(text) && !/^\.+$/.test(text);
  if (!isName(folder) || !isName(file))
    throw new ArchiveError('name_invalid', 'a text is named by letters, digits, _ . -');
  return `${folder}/${file}`;
}
