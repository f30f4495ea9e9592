import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { z } from 'zod';
import { LocalCopies } from '../archive/local-copies.ts';
import { openArchive } from '../archive/open.ts';
import { type deltaAnswerSchema, deltaFileLimits, deltaFolder, deltaJobSchema, fileKeyOf } from './job.ts';
import { writeDelta } from './write.ts';

/*
 * This program makes delta files; files.ts starts it. It reads jobs as JSON lines from standard input and answers each
 * with one JSON line on standard output. The api does not do this itself: fetching, hashing and decoding an edition
 * takes up to minutes of CPU, in which look-ups would wait.
 */

const say = (answer: z.infer<typeof deltaAnswerSchema>) => process.stdout.write(`${JSON.stringify(answer)}\n`);

async function make(line: string): Promise<void> {
  const { delta, archiveUrl, workDir } = deltaJobSchema.parse(JSON.parse(line));
  const { register, sha256 } = delta;
  const folder = join(workDir, deltaFolder);
  // Copies of a bucket's change files are in the same folder, so that one limit holds for both.
  const archive = await openArchive(archiveUrl, folder);
  const files = new LocalCopies(folder, deltaFileLimits);
  let rows = 0;
  // If the process dies in between, an unfinished file is left under another name. It is removed when room is made.
  await files.made(fileKeyOf(delta), async (path) => {
    rows = await writeDelta(delta, await archive.localFile({ register, kind: 'changes', sha256 }), path);
  });
  say({ kind: 'done', rows });
}

/**
 * Reports an error. Only messages of our own errors and of the system are passed on: others, such as avsc's, may quote a
 * record. Of these the class and the places are reported.
 */
function fail(error: unknown): void {
  const { name = 'unknown', code, message = '', stack = '', syscall } = error as NodeJS.ErrnoException;
  const isOurs = ['ArchiveError', 'CompareError', 'NoRoomError'].includes(name) || syscall !== undefined;
  const places = stack.split('\n').filter((line) => /^\s+at /.test(line));
  const known = { code: code ?? 'failed', message };
  say({
    kind: 'failed',
    ...(isOurs ? known : { code: 'failed', message: `${name}\n${places.slice(0, 8).join('\n')}` }),
  });
}

// The parent sends the next job after the answer to this one, so two jobs never run at once.
const lines = createInterface({ input: process.stdin });
lines.on('line', (line) => void make(line).catch(fail));
lines.on('close', () => process.exit(0));
