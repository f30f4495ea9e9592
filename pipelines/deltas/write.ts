import { createWriteStream } from 'node:fs';
import { stat, statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import { finished } from 'node:stream/promises';
import { limaTime } from '../../schemas/lima-time.ts';
import { isCompany, rucLength } from '../../schemas/ruc.ts';
import { openChangeFile } from '../changes/change-file.ts';
import { CompareError } from '../changes/errors.ts';
import { type ExportedChange, type ExportWords, exportedChanges, writeNdjson, writeParquet } from '../replay/export.ts';
import type { Delta } from './job.ts';

/** The public API's words. They are part of the layout: see `layoutVersion` in job.ts. */
export const apiWords: ExportWords = {
  names: {
    edition: 'edicion',
    op: 'operacion',
    ruc: 'ruc',
    fecha_dato: 'fecha_dato',
    detected_at: 'detectada_en',
    corrects: 'corrige',
    before: 'antes',
    after: 'despues',
  },
  operations: { r: 'base', c: 'alta', u: 'cambio', d: 'baja' },
  time: limaTime,
};

/**
 * A delta file has at most so many times the size of its change file: each JSON line repeats the names of the columns,
 * which the change file has once.
 */
const roomFactor = 5;
/** What must stay free on the disk of WORK_DIR for everything else. */
const reserveBytes = 2 ** 30;

export class NoRoomError extends Error {
  override name = 'NoRoomError';
  readonly code = 'no_room';
}

/**
 * Writes the delta file to `path` and returns its number of changes. The file is only complete when this resolves.
 * @param changeFile local path of the edition's change file, whose hash was checked
 * @throws CompareError `change_file_damaged` when the file is not the edition's or lacks changes
 * @throws NoRoomError
 */
export async function writeDelta(delta: Delta, changeFile: string, path: string): Promise<number> {
  await requireEdition(delta, changeFile);
  await requireRoom(changeFile, path);
  const out = createWriteStream(path, { highWaterMark: 2 ** 20 });
  // An error also rejects the writer's promise. Without a listener it would end the process.
  out.on('error', () => {});
  try {
    const never = new AbortController().signal;
    const changes = shownChanges(delta, changeFile);
    const rows =
      delta.form === 'ndjson'
        ? await writeNdjson(changes, out, () => {}, never, apiWords)
        : await writeParquet(delta.register, changes, out, () => {}, never, apiWords);
    await finished(out.end());
    return rows;
  } finally {
    // An open that is still in progress would make the file again after its removal.
    if (!out.closed) await new Promise<void>((resolve) => out.once('close', resolve).destroy());
  }
}

async function requireEdition({ register, edition }: Delta, changeFile: string): Promise<void> {
  const file = await openChangeFile(changeFile);
  await file.close();
  if (file.header.register !== register || file.header.edition !== edition) throw damaged('is of another edition');
}

async function requireRoom(changeFile: string, path: string): Promise<void> {
  const [{ size }, disk] = await Promise.all([stat(changeFile), statfs(dirname(path))]);
  const free = disk.bavail * disk.bsize;
  const needed = roomFactor * size + reserveBytes;
  if (free >= needed) return;
  const [has, needs] = [free, needed].map((bytes) => `${Math.round(bytes / 2 ** 20)} MiB`);
  throw new NoRoomError(`WORK_DIR has ${has} free, and a delta file may need ${needs}`);
}

/**
 * Yields the changes that the audience may see.
 * @throws CompareError when the file ends early; a cut between two of its blocks shows only in their number
 */
async function* shownChanges(delta: Delta, changeFile: string): AsyncGenerator<ExportedChange[]> {
  const { audience, fechaDato, changes: expected } = delta;
  let read = 0;
  for await (const changes of exportedChanges([{ path: changeFile, fechaDato }])) {
    read += changes.length;
    yield audience === 'everybody' ? changes : changes.filter(isOfCompany);
  }
  if (read !== expected) throw damaged(`holds ${read} changes, the catalogue says ${expected}`);
}

/** The key in a list of barred suppliers may be a person's document, so a company's has all the digits of a RUC. */
function isOfCompany({ ruc }: ExportedChange): boolean {
  return ruc.length === rucLength && isCompany(ruc);
}

function damaged(what: string): CompareError {
  return new CompareError('change_file_damaged', `the change file ${what}`);
}
