import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { type Answer, type Notice, type Receiver, startReceiver } from '../../../deploy/local/demo/receiver.ts';
import type { Authority } from './authority.ts';

export interface ProgrammedReceiver extends Receiver {
  /** Sets the answer to later requests for this path (with a leading slash), or for all other paths if `*`. */
  answer: (how: Answer, path?: string) => void;
  /** Resolves once `count` deliveries have arrived (at the path, if given); rejects after `timeoutMs`. */
  received: (count: number, options?: { path?: string; timeoutMs?: number }) => Promise<Notice[]>;
}

export async function startProgrammedReceiver(authority?: Authority): Promise<ProgrammedReceiver> {
  const answers = new Map<string, Answer>([['*', answers204]]);
  const receiver = await startReceiver({
    ...(authority === undefined ? {} : { certificate: await authority.issue({ names: ['127.0.0.1', 'localhost'] }) }),
    answer: (notice, response, request) => (answers.get(notice.path) ?? answers.get('*')!)(notice, response, request),
  });
  return {
    ...receiver,
    answer: (how, path = '*') => void answers.set(path, how),
    received: async (count, { path, timeoutMs = 20_000 } = {}) => {
      const until = Date.now() + timeoutMs;
      for (;;) {
        const found = receiver.notices.filter((notice) => path === undefined || notice.path === path);
        if (found.length >= count) return found;
        if (Date.now() > until) throw new Error(`${found.length} of ${count} notices came within ${timeoutMs} ms`);
        await sleep(20);
      }
    },
  };
}

const answers204: Answer = (_notice, response) => void response.writeHead(204).end();

export function status(code: number, headers: Record<string, string> = {}, body = ''): Answer {
  return (_notice, response) => void response.writeHead(code, headers).end(body);
}

/** Gives one answer after the other and repeats the last one. */
export function inTurn(...answers: Answer[]): Answer {
  return (notice, response, request) =>
    (answers.length > 1 ? answers.shift()! : answers[0]!)(notice, response, request);
}

/** Takes the request and never answers. */
export const hang: Answer = () => {};

export function after(ms: number, then: Answer): Answer {
  return async (notice, response, request) => {
    await sleep(ms);
    await then(notice, response, request);
  };
}

/** 200, then bytes without end. */
export const endless: Answer = (_notice, response) => {
  response.writeHead(200, { 'content-type': 'text/plain' });
  const timer = setInterval(() => response.write(Buffer.alloc(8_192, 'x')), 5);
  response.on('close', () => clearInterval(timer));
};

/** 200, then one byte a second without end. */
export const dripping: Answer = (_notice, response) => {
  response.writeHead(200).write('x');
  const timer = setInterval(() => response.write('x'), 1_000);
  response.on('close', () => clearInterval(timer));
};

/** 200 with a small gzip body that grows to 20 MB. */
export const gzipBomb: Answer = (_notice, response) =>
  void response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(Buffer.alloc(20_000_000)));

/** 200 with a gzip body that ends in the middle. */
export const cutGzip: Answer = (_notice, response) =>
  void response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(Buffer.alloc(5_000, 'y')).subarray(0, 15));

/** Ends the connection without an answer. */
export const reset: Answer = (_notice, response) => void response.destroy();
