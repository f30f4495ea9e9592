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
  let timer: NodeJS.Timeout | undefined;
  const tooLate = new Promise<never>((_, reject) => {
    const late = Object.assign(new Error('no answer'), { code: 'no_answer' });
    timer = setTimeout(reject, timeoutMs, late);
  });
  try {
    await Promise.race([check.ask(), tooLate]);
  } catch (error) {
    throw engineError(check.engine, check.address, error);
  } finally {
    clearTimeout(timer);
  }
}
