import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { repositoryRoot } from '../../deploy/local/config.ts';

// The rules of the house that can be counted. A failure lists what breaks the rule and says what to do about it.

const productFolders = ['schemas', 'pipelines', 'workflows', 'api', 'deploy'];

interface TextFile {
  name: string;
  lines: readonly string[];
}

function filesIn(folders: readonly string[], ending: string): TextFile[] {
  return folders.flatMap((folder) =>
    readdirSync(path.join(repositoryRoot, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith(ending))
      .map((name) => fileAt(path.join(folder, name))),
  );
}

function fileAt(name: string): TextFile {
  return { name, lines: readFileSync(path.join(repositoryRoot, name), 'utf8').trimEnd().split('\n') };
}

const product = filesIn(productFolders, '.ts');

const filesByFolder = new Map<string, number>();
for (const { name } of product) {
  const folder = path.dirname(name);
  filesByFolder.set(folder, (filesByFolder.get(folder) ?? 0) + 1);
}

it('no folder has more than 20 files, and there are at most 45 folders', () => {
  const full = [...filesByFolder].filter(([, count]) => count > 20).map(([folder, count]) => `${folder}: ${count}`);
  expect(full, 'Join files with one importer to it, or make a folder for a part that has a name.').toEqual([]);
  expect(filesByFolder.size, 'Too many folders: join those with few files.').toBeLessThanOrEqual(45);
});

it('the product has at most 380 files, half of them with at least 105 lines', () => {
  expect(product.length, 'Too many files: join those with a single importer to it.').toBeLessThanOrEqual(380);
  const lengths = product.map(({ lines }) => lines.length).sort((one, other) => one - other);
  const median = lengths[Math.floor(lengths.length / 2)];
  expect(median, 'Files are too small: join those that belong to one idea.').toBeGreaterThanOrEqual(105);
});
