import { within } from '../lifecycle.ts';
import { type EngineName, engineError } from './failure.ts';

/** How to ask one engine whether it can be used. */
export interface EngineCheck {
  engine: EngineName;
  /** Where the engine is, without user and password. */
  address: string;
  /** Sends the cheapest question that needs a login. Resolves with the version; null if the protocol has none. */
  ask(): Promise<string | null>;
}

/** @throws EngineError, at the latest after `timeoutMs` */
export async function askEngine(check: EngineCheck, timeoutMs: number): Promise<void> {
  try {
    await within(timeoutMs, check.ask());
  } catch (error) {
    throw engineError(check.engine, check.address, error);
  }
}
