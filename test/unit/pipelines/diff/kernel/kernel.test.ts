import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

const root = fileURLToPath(new URL('../../../../..', import.meta.url));
const folder = join(root, 'pipelines/diff/kernel');

it('kernel.wasm is what `npm run kernel` makes from its source', async () => {
  const made = mkdtempSync(join(tmpdir(), 'padron-kernel-'));
  try {
    const compiler = join(root, 'node_modules/assemblyscript/bin/asc.js');
    const options = ['--config', join(folder, 'asconfig.json'), '--outFile', join(made, 'kernel.wasm')];
    await promisify(execFile)(process.execPath, [compiler, ...options], { cwd: root });
    const [compiled, kept] = [made, folder].map((where) => readFileSync(join(where, 'kernel.wasm')).toString('hex'));
    expect(kept).toBe(compiled);
  } finally {
    rmSync(made, { recursive: true });
  }
}, 120_000);
