/**
 * Codes of a failed comparison. The first group is the publication's fault: a retry would fail again, so an operator
 * decides. The second group is about our own files. Error texts never quote a row.
 */
const publicationFaults = [
  'zip_invalid',
  'zip_crc',
  'zip_entry',
  'zip_size',
  'text_invalid',
  'header_changed',
  'empty',
] as const;
const ownFaults = [
  /** The base's index or row store is not in WORK_DIR and must be rebuilt. */
  'index_missing',
  /** The base's index or row store contradicts itself and must be rebuilt. */
  'index_damaged',
  /** The base has another parser version or other columns, so a re-baseline is needed. */
  'parser_changed',
  /** A re-baseline cannot read the publication that the head was made from. The new publication is not at fault. */
  'previous_unreadable',
  /** The edition cannot be undone, because it holds first rows or has other columns than the head. */
  'not_correctable',
  /** The row store has outgrown its 32-bit offsets. A re-baseline begins it anew. */
  'row_store_full',
  /** A change file cannot be read, or does not follow the one before it. */
  'change_file_damaged',
  /** The child process ended without an answer (killed, out of memory). */
  'compare_crashed',
] as const;

export type CompareErrorCode = (typeof publicationFaults)[number] | (typeof ownFaults)[number];

export class CompareError extends Error {
  readonly code: CompareErrorCode;
  readonly retryable: boolean;

  constructor(code: CompareErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'CompareError';
    this.code = code;
    this.retryable = code === 'compare_crashed';
  }

  /** True when the publication is at fault, so that an operator decides and nothing is retried. */
  get isPublicationFault(): boolean {
    return (publicationFaults as readonly string[]).includes(this.code);
  }
}

/** Runs a reading of the head's publication, whose faults are not those of the new publication. */
export async function readingPrevious<Result>(read: () => Promise<Result>): Promise<Result> {
  try {
    return await read();
  } catch (error) {
    if (!(error instanceof CompareError) || !error.isPublicationFault) throw error;
    throw new CompareError('previous_unreadable', error.message, { cause: error });
  }
}

export function isCompareErrorCode(code: unknown): code is CompareErrorCode {
  return ([...publicationFaults, ...ownFaults] as unknown[]).includes(code);
}

/**
 * A record that our own code wrote and cannot read: a bug, so its partition stops. It never holds the record's bytes.
 */
export class UndecodableRecord extends Error {
  override name = 'UndecodableRecord';
  readonly code = 'undecodable_record';
  readonly retryable = false;
  readonly #reason: string;
  /** Offset in the partition. The consumer loop sets it where the decoder does not know it. */
  offset: string | undefined;

  constructor(reason: string, offset?: string) {
    super(`a record cannot be decoded: ${reason}`);
    this.#reason = reason;
    this.offset = offset;
  }

  /** The same error for the record at this offset; one reason may hold for many records. */
  at(offset: string): UndecodableRecord {
    return new UndecodableRecord(this.#reason, offset);
  }
}
