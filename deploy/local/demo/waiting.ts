import { setTimeout as sleep } from 'node:timers/promises';

/** Waits until `holds` does, asking every 100 ms. False when it does not within the time. */
export async function waitUntil(holds: () => boolean | Promise<boolean>, timeoutMs: number): Promise<boolean> {
  const deadline = Date.now() + timeoutMs;
  while (!(await holds())) {
    if (Date.now() > deadline) return false;
    await sleep(100);
  }
  return true;
}
