import type { Readable } from 'node:stream';
import { isRegisterName, type RegisterName } from '../../schemas/registers.ts';

/** What the archive keeps of a register: the evidence (publications, rejects) and the truth of its state (changes, overlays). */
const objectKinds = ['publications', 'changes', 'overlays', 'rejects'] as const;
export type ObjectKind = (typeof objectKinds)[number];

/** An object's name is the hash of its bytes, so one name can only ever hold one content. */
export interface ObjectName {
  register: RegisterName;
  kind: ObjectKind;
  sha256: string;
}

/**
 * Where raw publications and change files are kept. Objects are put once and never changed; only raw publications can be
 * removed, by their retention. A put object is durable when `put` resolves: only then may the catalogue name it.
 */
export interface Archive {
  /**
   * Moves a finished local file into the archive; repeatable. The file is gone afterwards, also when the object was
   * there already.
   * @throws ArchiveError `hash_mismatch` when the file's bytes are not those of the name
   */
  put(name: ObjectName, file: string): Promise<'stored' | 'already_there'>;
  /** Size in bytes, or null when there is no such object. */
  size(name: ObjectName): Promise<number | null>;
  /** Path of a local file that holds the object, for reading only. @throws ArchiveError `not_found` */
  localFile(name: ObjectName): Promise<string>;
  /** The object's bytes. @throws ArchiveError `not_found` */
  read(name: ObjectName): Promise<Readable>;
  /** Removes a raw publication; repeatable. @throws ArchiveError `name_invalid` for any other kind */
  remove(name: ObjectName): Promise<void>;
  /** Local path for a file that is still being written. Survives a restart. */
  incomingFile(label: string): Promise<string>;
  /** Removes files still being written that nobody touched for so long. Resolves with how many. */
  discardIncoming(olderThanMs: number): Promise<number>;
}

/** Small texts that are put once, beside the objects: the id→schema map. Names are folder and file. */
export interface TextStore {
  /** Puts a text; what is there already stays as it is. Durable when it resolves. */
  put(folder: string, file: string, text: string): Promise<'stored' | 'already_there'>;
  /** Null when there is no such text. */
  read(folder: string, file: string): Promise<string | null>;
  /** Files of a folder, in no order; none where there is no folder. */
  list(folder: string): Promise<string[]>;
}

/** `refused`: the store does not let us (credentials, bucket). `unavailable`: it does not answer; trying again may help. */
export type ArchiveErrorCode = 'not_found' | 'hash_mismatch' | 'name_invalid' | 'refused' | 'unavailable';

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

/** `<register>/<kind>/<sha256>`, the same in every store. @throws ArchiveError `name_invalid` */
export function objectKey({ register, kind, sha256 }: ObjectName): string {
  if (!isRegisterName(register) || !objectKinds.includes(kind) || !/^[0-9a-f]{64}$/.test(sha256)) {
    throw new ArchiveError('name_invalid', 'an object is named by register, kind and a sha256 in lower-case hex');
  }
  return `${register}/${kind}/${sha256}`;
}

/** Only evidence goes, never the truth of the state. @throws ArchiveError `name_invalid` */
export function removableKey(name: ObjectName): string {
  if (name.kind !== 'publications') throw new ArchiveError('name_invalid', 'only raw publications can be removed');
  return objectKey(name);
}

export function notFound(name: ObjectName): ArchiveError {
  return new ArchiveError('not_found', `the archive has no ${objectKey(name)}`);
}

/** Text names are `<folder>/<file>`, of letters, digits and `_ . -`. @throws ArchiveError `name_invalid` */
export function textKey(folder: string, file: string): string {
  const isName = (text: string) => /^[A-Za-z0-9_.-]+$/.test(text) && !/^\.+$/.test(text);
  if (!isName(folder) || !isName(file))
    throw new ArchiveError('name_invalid', 'a text is named by letters, digits, _ . -');
  return `${folder}/${file}`;
}
