/** Codes of errors that the publication causes. A retry would fail again, so an operator decides what to do. */
const publicationFaults = [
  'zip_invalid',
  'zip_crc',
  'zip_entry',
  'zip_size',
  'text_invalid',
  'header_changed',
  'empty',
] as const;
/** Codes of errors in our own files and processes. */
const ownFaults = [
  /** The index or row store of the base (the edition to start from) is not in WORK_DIR and must be rebuilt. */
  'index_missing',
  /** The base's index or row store contradicts itself or is of another edition, and must be rebuilt. */
  'index_damaged',
  /** The base has another parser version or other columns: a re-baseline (a new edition with every row) is needed. */
  'parser_changed',
  /** A re-baseline cannot read the publication that the head was made from. The new publication is not at fault. */
  'previous_unreadable',
  /** The edition cannot be undone: its change file has every row of the register, or other columns than the head. */
  'not_correctable',
  /** The row store is full, because its positions have 32 bits. A re-baseline begins a new row store. */
  'row_store_full',
  /** A change file cannot be read, or does not follow the change file before it. */
  'change_file_damaged',
  /** The child process (child.ts) failed unexpectedly, or ended without an answer, for example when out of memory. */
  'compare_crashed',
] as const;

export type CompareErrorCode = (typeof publicationFaults)[number] | (typeof ownFaults)[number];

/** A comparison, correction or rebuild that failed. Its message never quotes a row. */
export class CompareError extends Error {
  readonly code: CompareErrorCode;
  readonly retryable: boolean;

  constructor(code: CompareErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'CompareError';
    this.code = code;
    this.retryable = code === 'compare_crashed';
  }

  /** True if the publication causes the error. Then nothing is retried, and an operator decides what to do. */
  get isPublicationFault(): boolean {
    return (publicationFaults as readonly string[]).includes(this.code);
  }
}

/**
 * Runs `read`, which reads the head's publication. If this publication is at fault, the error becomes
 * `previous_unreadable`. Otherwise the new publication would be blamed.
 */
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
 * A record that our own code wrote cannot be decoded. This is a bug, so consumers stop the record's Kafka partition.
 * The error never contains the record's bytes.
 */
export class UndecodableRecord extends Error {
  override name = 'UndecodableRecord';
  readonly code = 'undecodable_record';
  readonly retryable = false;
  readonly #reason: string;
  /** Offset of the record in its partition. If the decoder does not know the offset, the consumer loop sets it. */
  offset: string | undefined;

  constructor(reason: string, offset?: string) {
    super(`a record cannot be decoded: ${reason}`);
    this.#reason = reason;
    this.offset = offset;
  }

  /** Returns a copy of this error for the record at this offset, because several records may share one error object. */
  at(offset: string): UndecodableRecord {
    return new UndecodableRecord(this.#reason, offset);
  }
}
