import { setTimeout as sleep } from 'node:timers/promises';
import { openConnection } from './look-up-callers.ts';

export interface SteadyCalls {
  answered: number;
  wrong: number;
  /** The first wrong answer: what was asked, and the status line. */
  firstWrong: string | null;
  /** Milliseconds from when each request was due to its answer, so that a slow answer counts for those it delays. */
  latencies: { name: string; ms: number }[];
}

interface Request {
  /** Under which its latency is counted. */
  name: string;
  target: string;
  /** Judges the answer, head and body. */
  isRight(answer: string): boolean;
}

/**
 * Starts callers that together send `perSecond` requests, evenly, until `end.at`. A slow answer delays only its caller.
 * @param headers lines of the request's head, each with its line end
 * @param next what to ask for
 */
export function startSteadyCallers(
  url: string,
  headers: string,
  end: { readonly at: number },
  { perSecond, callers }: { perSecond: number; callers: number },
  next: () => Request,
): Promise<SteadyCalls>[] {
  const { hostname, port } = new URL(url);
  const head = `HTTP/1.1\r\nHost: ${hostname}:${port}\r\n${headers}\r\n`;
  return Array.from({ length: callers }, async (_, number) => {
    const connection = await openConnection(hostname, Number(port));
    const calls: SteadyCalls = { answered: 0, wrong: 0, firstWrong: null, latencies: [] };
    const pauseMs = (1_000 * callers) / perSecond;
    for (let dueAt = Date.now() + (pauseMs * number) / callers; Date.now() < end.at; dueAt += pauseMs) {
      await sleep(Math.max(0, dueAt - Date.now()));
      const { name, target, isRight } = next();
      const answer = await connection.ask(`GET ${target} ${head}`);
      calls.answered += 1;
      calls.latencies.push({ name, ms: Date.now() - dueAt });
      if (answer.startsWith('HTTP/1.1 200') && isRight(answer)) continue;
      calls.wrong += 1;
      calls.firstWrong ??= `GET ${target}: ${answer.split('\r\n', 1)[0]}`;
    }
    connection.socket.destroy();
    return calls;
  });
}
