import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import avro from 'avsc';
import { compareEdition } from '../../../../../pipelines/diff/large/compare.ts';
import { correctEdition } from '../../../../../pipelines/diff/large/correct.ts';
import { rebuildIndex } from '../../../../../pipelines/diff/large/rebuild.ts';
import type {
  CompareInput,
  CompareLimits,
  CompareResult,
  CorrectInput,
  CorrectResult,
} from '../../../../../pipelines/diff/types.ts';
import { header } from '../../../../../pipelines/registers/padron-reducido.ts';
import type { RegisterName } from '../../../../../schemas/registers.ts';
import { writeLines } from '../../../../support/registers/lines.ts';

/** A working folder for one chain of editions. */
export class Harness {
  readonly register: RegisterName;
  readonly folder = mkdtempSync(join(tmpdir(), 'padron-diff-'));
  readonly workDir = join(this.folder, 'work');
  readonly outputDir = join(this.folder, 'out');
  readonly publicationPath = join(this.folder, 'publication.zip');
  readonly editions: CompareResult[] = [];

  constructor(register: RegisterName = 'padron_reducido') {
    this.register = register;
  }

  /** Input for the comparison that makes the next edition. */
  next(changes: Partial<CompareInput> = {}): CompareInput {
    const last = this.editions.at(-1);
    const edition = this.editions.length + 1;
    return {
      register: this.register,
      publicationPath: this.publicationPath,
      workDir: this.workDir,
      outputDir: this.outputDir,
      base: last === undefined ? null : { edition: edition - 1, changeFileSha256: last.changeFile.sha256 },
      edition,
      detectedAt: 1_790_000_000_000 + edition,
      ...changes,
    };
  }

  async compare(changes: Partial<CompareInput> = {}, limits: Partial<CompareLimits> = {}): Promise<CompareResult> {
    const result = await compareEdition(this.next(changes), () => {}, new AbortController().signal, limits);
    if (changes.edition === undefined) this.editions.push(result);
    return result;
  }

  /** Publishes these lines under a header and compares them as the next edition. */
  async publish(
    lines: readonly (string | Uint8Array)[],
    lineEnd = '\n',
    changes: Partial<CompareInput> = {},
  ): Promise<CompareResult> {
    await this.write(lines, lineEnd);
    return this.compare(changes);
  }

  /** Writes the publication of these lines without comparing it. */
  async write(lines: readonly (string | Uint8Array)[], lineEnd = '\n'): Promise<void> {
    await writeLines(this.publicationPath, [header, ...lines], lineEnd);
  }

  /** Makes the next edition, which undoes edition `corrects`. By default `overlayPath` is the head's overlay. */
  async correct(corrects: number, changes: Partial<CorrectInput> = {}): Promise<CorrectResult> {
    const { register, workDir, outputDir, base, edition, detectedAt } = this.next();
    const input: CorrectInput = {
      ...{ register, workDir, outputDir, base: base!, edition, detectedAt, corrects },
      correctedFile: this.editions[corrects - 1]!.changeFile.path,
      overlayPath: this.editions.at(-1)!.overlayFile?.path ?? null,
      ...changes,
    };
    const result = await correctEdition(input, () => {}, new AbortController().signal);
    if (changes.edition === undefined) this.editions.push(result);
    return result;
  }

  /** The last publication, for a re-baseline that reads it again. */
  keepPublication(): string {
    const kept = join(this.folder, `previous-${this.editions.length}.zip`);
    cpSync(this.publicationPath, kept);
    return kept;
  }

  /** Rebuilds the working files in another folder, from edition `from` on. Returns the folder. */
  async rebuild(from = 1): Promise<string> {
    const workDir = join(this.folder, `rebuilt-${from}`);
    const changeFiles = this.editions
      .map(({ changeFile }, index) => ({ edition: index + 1, ...changeFile }))
      .slice(from - 1);
    const input = { register: this.register, workDir, changeFiles };
    const rebuilt = await rebuildIndex(input, () => {}, new AbortController().signal);
    const { indexName, stateRows: rows } = this.editions.at(-1)!;
    if (JSON.stringify(rebuilt) !== JSON.stringify({ edition: this.editions.length, indexName, rows })) {
      throw new Error(`rebuilt ${JSON.stringify(rebuilt)}, expected ${indexName}`);
    }
    return workDir;
  }

  /** Contents of the working files by name. A rebuild or a second run must make equal ones. */
  workFiles(workDir = this.workDir): Record<string, string> {
    mkdirSync(workDir, { recursive: true });
    const names = readdirSync(workDir).sort();
    return Object.fromEntries(names.map((name) => [name, readFileSync(join(workDir, name)).toString('base64')]));
  }

  rejects(result: CompareResult): { line: number; reason: string; raw: string }[] {
    if (result.rejectFile === null) return [];
    const lines = readFileSync(result.rejectFile.path, 'utf8').trimEnd().split('\n');
    return lines.map((line) => JSON.parse(line) as { line: number; reason: string; raw: string });
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** Decodes every record of a container file with avsc alone, without our own reader. */
export async function readContainer<T>(path: string): Promise<T[]> {
  const records: T[] = [];
  const decoder = avro.createFileDecoder(path);
  for await (const record of decoder) records.push(JSON.parse(JSON.stringify(record)) as T);
  return records;
}
