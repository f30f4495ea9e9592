import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { writeZip } from '../../../../../deploy/local/demo/register/publication.ts';
import type { ChangeRecord } from '../../../../../pipelines/changes/record.ts';
import { smallEngine } from '../../../../../pipelines/diff/small/rebuild.ts';
import type { CompareInput, CompareResult, CorrectInput, CorrectResult } from '../../../../../pipelines/diff/types.ts';
import type { RegisterName } from '../../../../../schemas/registers.ts';
import { joinLines } from '../../../../support/registers/lines.ts';
import { readContainer } from '../large/harness.ts';

type ListName = 'agentes_retencion' | 'buenos_contribuyentes';
export const listHeader = 'Ruc|Nombre/Razon|A partir del|Resolucion|';
const stems: Record<ListName, string> = { agentes_retencion: 'AgenRet', buenos_contribuyentes: 'BueCont' };

/** A working folder for one chain of editions of a small register. */
export class SmallHarness {
  readonly folder = mkdtempSync(join(tmpdir(), 'padron-small-'));
  readonly workDir = join(this.folder, 'work');
  readonly outputDir = join(this.folder, 'out');
  readonly register: RegisterName;
  readonly editions: CompareResult[] = [];
  #publications = 0;

  constructor(register: RegisterName) {
    this.register = register;
  }

  /** Publishes these lines and compares them as the next edition. */
  async publish(lines: readonly (string | Uint8Array)[], changes: Partial<CompareInput> = {}): Promise<CompareResult> {
    return await this.compare({ publicationPath: await this.write(lines), ...changes });
  }

  async compare(changes: Partial<CompareInput> & { publicationPath: string }): Promise<CompareResult> {
    const result = await smallEngine.compare({ ...this.next(), ...changes }, () => {}, new AbortController().signal);
    if (changes.edition === undefined) this.editions.push(result);
    return result;
  }

  /** Makes the next edition, which undoes an earlier one. */
  async correct(corrects: number, overlayPath: string | null = null): Promise<CorrectResult> {
    const { base, ...next } = this.next();
    const correctedFile = this.editions[corrects - 1]!.changeFile.path;
    const input: CorrectInput = { ...next, base: base!, corrects, correctedFile, overlayPath };
    const result = await smallEngine.correct(input, () => {}, new AbortController().signal);
    this.editions.push(result);
    return result;
  }

  next() {
    const edition = this.editions.length + 1;
    const base = this.editions.at(-1);
    return {
      register: this.register,
      workDir: this.workDir,
      outputDir: this.outputDir,
      base: base === undefined ? null : { edition: edition - 1, changeFileSha256: base.changeFile.sha256 },
      edition,
      detectedAt: 1_790_000_000_000 + edition,
    };
  }

  /** Writes a list as a zip, and bars as a plain file. */
  async write(lines: readonly (string | Uint8Array)[]): Promise<string> {
    this.#publications += 1;
    const path = join(this.folder, `publication-${this.#publications}`);
    const stem = stems[this.register as ListName];
    const content = joinLines(lines, stem === undefined ? '\r\n' : '\r');
    if (stem === undefined) writeFileSync(path, content);
    else await writeZip(path, [{ name: `${stem}_TXT.txt`, content }], 6);
    return path;
  }

  async rebuild(workDir: string, from = 1) {
    const files = this.editions.map(({ changeFile }, index) => ({ edition: index + 1, ...changeFile }));
    const input = { register: this.register, workDir, changeFiles: files.slice(from - 1) };
    return await smallEngine.rebuild(input, () => {}, new AbortController().signal);
  }

  /** Contents of the working files by name. A rebuild or a second run must make equal ones. */
  workFiles(workDir = this.workDir): Record<string, string> {
    mkdirSync(workDir, { recursive: true });
    return Object.fromEntries(readdirSync(workDir).map((name) => [name, readFileSync(join(workDir, name), 'utf8')]));
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}

export interface PlainChange {
  op: string;
  key: string;
  before: string[] | null;
  after: string[] | null;
  line: number | null;
}

/** A result's changes, decoded with avsc. */
export async function changesOf({ changeFile }: CompareResult): Promise<PlainChange[]> {
  const records = await readContainer<ChangeRecord>(changeFile.path);
  return records.map(({ op, ruc, before, after, line }) => {
    return { op, key: ruc, before: before && Object.values(before), after: after && Object.values(after), line };
  });
}

export async function overlayOf({ overlayFile }: CompareResult) {
  if (overlayFile === null) return [];
  const rows = await readContainer<{
    ruc: string;
    reason: string;
    line: number | null;
    row: Record<string, string> | null;
  }>(overlayFile.path);
  return rows.map(({ ruc, reason, line, row }) => ({ key: ruc, reason, line, row: row && Object.values(row) }));
}

export function listedIn({ rejectFile }: CompareResult): { line: number; reason: string; raw: string }[] {
  if (rejectFile === null) return [];
  const lines = readFileSync(rejectFile.path, 'utf8').trimEnd().split('\n');
  return lines.map((line) => JSON.parse(line) as { line: number; reason: string; raw: string });
}
