import type { Readable } from 'node:stream';
import type { RegisterName } from '../../schemas/registers.ts';

/** What the archive keeps of a register: the evidence (publications, rejects) and the truth of its state (changes, overlays). */
export const objectKinds = ['publications', 'changes', 'overlays', 'rejects'] as const;
export type ObjectKind = (typeof objectKinds)[number];

/** An object's name is the hash of its bytes, so one name can only ever hold one content. */
export interface ObjectName {
  register: RegisterName;
  kind: ObjectKind;
  sha256: string;
}

/**
 * Where raw publications and change files are kept. Objects are put once and never changed or removed by the product.
 * A put object is durable when `put` resolves: only then may the catalogue name it.
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
  /** Path for a file that is still being written, on the same device as the objects. Survives a restart. */
  incomingFile(label: string): Promise<string>;
  /** Removes files still being written that nobody touched for so long. Resolves with how many. */
  discardIncoming(olderThanMs: number): Promise<number>;
}

export type ArchiveErrorCode = 'not_found' | 'hash_mismatch' | 'name_invalid';

export class ArchiveError extends Error {
  override name = 'ArchiveError';
  readonly code: ArchiveErrorCode;
  readonly retryable = false;

  constructor(code: ArchiveErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}
