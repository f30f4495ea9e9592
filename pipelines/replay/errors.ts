export type ReplayErrorCode =
  | 'change_file_damaged'
  | 'too_many_files'
  | 'too_many_rows'
  | 'overlay_too_large'
  | 'edition_on_its_way'
  | 'no_edition'
  | 'edition_unknown'
  | 'edition_not_notified'
  | 'already_running'
  | 'shadow_differs'
  | 'verify_crashed';

/** What a fold, a verification, a rebuild or a replay cannot go on from. Names no person. */
export class ReplayError extends Error {
  override name = 'ReplayError';
  readonly code: ReplayErrorCode;
  readonly retryable: boolean;

  constructor(code: ReplayErrorCode, message: string, options: { retryable?: boolean; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.retryable = options.retryable ?? false;
  }
}
