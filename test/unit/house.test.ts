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

function filesIn(folders: readonly string[], ...endings: string[]): TextFile[] {
  return folders.flatMap((folder) =>
    readdirSync(path.join(repositoryRoot, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => endings.some((ending) => name.endsWith(ending)))
      .map((name) => fileAt(path.join(folder, name))),
  );
}

function fileAt(name: string): TextFile {
  return { name, lines: readFileSync(path.join(repositoryRoot, name), 'utf8').trimEnd().split('\n') };
}

const product = filesIn(productFolders, '.ts', '.tsx', '.css');
const allCode = [...product, ...filesIn(['test'], '.ts')];
const readmes = filesIn(productFolders, 'README.md');

/** `file:line` of each line that the pattern matches. */
const placesOf = (files: readonly TextFile[], pattern: RegExp): string[] =>
  files.flatMap(({ name, lines }) =>
    lines.flatMap((line, index) => (pattern.test(line) ? [`${name}:${index + 1}`] : [])),
  );

const filesByFolder = new Map<string, number>();
for (const { name } of product) {
  const folder = path.dirname(name);
  filesByFolder.set(folder, (filesByFolder.get(folder) ?? 0) + 1);
}

it('no file of the product has more than 300 lines', () => {
  const long = product.filter(({ lines }) => lines.length > 300).map(({ name, lines }) => `${name}: ${lines.length}`);
  expect(long, 'Split each of these into two ideas, or delete what nothing needs.').toEqual([]);
});

it('no folder has more than 20 files, and there are at most 66 folders', () => {
  const full = [...filesByFolder].filter(([, count]) => count > 20).map(([folder, count]) => `${folder}: ${count}`);
  expect(full, 'Join files with one importer to it, or make a folder for a part that has a name.').toEqual([]);
  expect(filesByFolder.size, 'Too many folders: join those with few files.').toBeLessThanOrEqual(66);
});

it('the product has at most 560 files, half of them with at least 105 lines', () => {
  expect(product.length, 'Too many files: join those with a single importer to it.').toBeLessThanOrEqual(560);
  const lengths = product.map(({ lines }) => lines.length).sort((one, other) => one - other);
  const median = lengths[Math.floor(lengths.length / 2)];
  expect(median, 'Files are too small: join those that belong to one idea.').toBeGreaterThanOrEqual(105);
});

it('no comment begins with "Of"', () => {
  const places = placesOf(allCode, /^\s*(\/\*\*|\/\/|\*) Of\b|\S\s+(\/\*\*|\/\/) Of\b/);
  expect(places, 'Make each of these comments a sentence that names the thing it is about.').toEqual([]);
});

it('a README has at most 60 lines of at most 120 characters', () => {
  const long = readmes.filter(({ lines }) => lines.length > 60).map(({ name, lines }) => `${name}: ${lines.length}`);
  expect(long, 'Keep decisions and what was refused, and delete what the names of files already say.').toEqual([]);
  // The root README may be longer than a screen, but its prose is not wider; commands and tables there may be.
  const rootProse = fileAt('README.md').lines.map((line) => (/^( {4}|\||const )/.test(line) ? '' : line));
  const wide = placesOf([...readmes, { name: 'README.md', lines: rootProse }], /.{121}/);
  expect(wide, 'Wrap these lines at 120 characters.').toEqual([]);
});

it('code says report, return, notify or log instead of "tell"', () => {
  // Names of tests may say what they like.
  const outsideTestNames = allCode.map(({ name, lines }) => ({
    name,
    lines: lines.map((line) => (/^\s*(it|test|describe)\b/.test(line) ? '' : line)),
  }));
  const places = placesOf(outsideTestNames, /\b(tell|tells|told)\b/i);
  expect(places.length, `Say what happens instead: ${places.slice(0, 40).join(', ')}`).toBeLessThan(40);
});
