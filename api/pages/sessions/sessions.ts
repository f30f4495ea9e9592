import type { Caller } from '../../accounts/callers.ts';

/** A session of the console. */
export interface ConsoleSession {
  id: string;
  /** Who would ask with the session's token. */
  caller: Caller;
}
