import { within } from '../lifecycle.ts';
import { EngineError, type EngineName, engineError } from './failure.ts';
import { engineFloors, isBelow } from './floors.ts';

/** How to ask one engine whether it can be used. */
export interface EngineCheck {
  engine: EngineName;
  /** Where the engine is, without user and password. */
  address: string;
  /** Sends the cheapest question that needs a login. Resolves with the version; null if the engine shows none. */
  ask(): Promise<string | null>;
}

/**
 * Asks an engine, and compares its version with the floor. Resolves with the version; null if the engine shows none.
 * @throws EngineError, at the latest after `timeoutMs`
 */
export async function askEngine(
  { engine, address, ask }: EngineCheck,
  timeoutMs: number,
  floor = engineFloors[engine],
): Promise<string | null> {
  try {
    const version = await within(timeoutMs, ask());
    if (version === null || floor === null || !isBelow(version, floor)) return version;
    const reason = `its version is ${version}, and this release needs ${floor} or newer`;
    throw new EngineError(engine, address, { kind: 'refused', reason, code: 'version_too_old' });
  } catch (error) {
    throw engineError(engine, address, error);
  }
}
