import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import {
  fetchArtifacts,
  fetchOnce,
  findProgram,
  missing,
  type ProgramStore,
  registryMinimumJava,
  registryVersion,
  resolveJava,
} from '../fetch.ts';
import { javaNeeds, toFetch } from '../prerequisites.ts';
import { answersOk, type Engine, type EngineContext, engineFolder, javaEnvironment } from './context.ts';
import { createDatabase } from './postgres.ts';

const addressNames = ['SCHEMA_REGISTRY_URL'] as const;
const registryFolder = `apicurio-${registryVersion}`;
const databaseName = 'apicurio';

/** Apicurio Registry, used through its Confluent-compatible interface. It keeps its data in the stack's PostgreSQL. */
export const registry: Engine = {
  name: 'registry',
  after: ['postgres'],
  addressNames,
  endpoints: (context) => ({ SCHEMA_REGISTRY_URL: registryUrl(context) }),
  toolNeeds: (store) => [
    ...javaNeeds(store, registryMinimumJava, addressNames),
    ...toFetch(store, registryFolder, `Apicurio Registry ${registryVersion}`, addressNames, 'maven', 'tar'),
  ],
  async prepare(context) {
    const java = await resolveJava(context.programs, registryMinimumJava, addressNames);
    const program = await resolveRegistry(context.programs);
    await createDatabase(context.endpoints.DATABASE_URL, databaseName);
    return {
      name: 'registry',
      command: java,
      args: [
        '-XX:+UseSerialGC',
        '-Xms64m',
        '-Xmx256m',
        '-XX:TieredStopAtLevel=1', // starts faster; the code runs slower, but there are few requests
        '-XX:+ExitOnOutOfMemoryError',
        `-Djava.io.tmpdir=${emptyFolder(context)}`,
        '-jar',
        path.join(program, 'quarkus-run.jar'),
      ],
      environment: { ...javaEnvironment(context), ...settings(context) },
      workingDirectory: engineFolder(context, 'registry'),
      stopSignal: 'SIGTERM',
      isReady: () => answersOk(`${registryUrl(context)}/subjects`),
    };
  },
};

/** The registry unpacks a native library at every start and never removes it. So each start gets an empty folder. */
function emptyFolder(context: EngineContext): string {
  const folder = path.join(engineFolder(context, 'registry'), 'temporary');
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  return folder;
}

function registryUrl(context: EngineContext): string {
  return `http://127.0.0.1:${context.ports.registry}/apis/ccompat/v7`;
}

function settings(context: EngineContext): Record<string, string> {
  const database = new URL(context.endpoints.DATABASE_URL);
  return {
    APICURIO_STORAGE_KIND: 'sql',
    APICURIO_STORAGE_SQL_KIND: 'postgresql',
    APICURIO_DATASOURCE_URL: `jdbc:postgresql://${database.host}/${databaseName}`,
    APICURIO_DATASOURCE_USERNAME: decodeURIComponent(database.username),
    APICURIO_DATASOURCE_PASSWORD: decodeURIComponent(database.password),
    APICURIO_DATASOURCE_JDBC_INITIAL_SIZE: '2',
    APICURIO_DATASOURCE_JDBC_MIN_SIZE: '2',
    APICURIO_DATASOURCE_JDBC_MAX_SIZE: '10',
    QUARKUS_HTTP_HOST: '127.0.0.1',
    QUARKUS_HTTP_PORT: String(context.ports.registry),
    QUARKUS_MANAGEMENT_HOST: '127.0.0.1',
    QUARKUS_MANAGEMENT_PORT: String(context.ports.registryManagement),
    QUARKUS_LOG_LEVEL: 'WARN',
  };
}

function resolveRegistry(store: ProgramStore): Promise<string> {
  const need = { what: `Apicurio Registry ${registryVersion}`, instead: addressNames };
  const artifact = {
    group: 'io.apicurio',
    name: 'apicurio-registry-app',
    version: registryVersion,
    type: 'tar.gz',
    classifier: 'all',
    alone: true, // the archive holds all dependencies
  };
  return fetchOnce(store, registryFolder, async (folder) => {
    const tar = findProgram(store.searchPath, 'tar');
    if (!tar) throw missing('tar', 'Debian: apt-get install tar', need);
    await fetchArtifacts(store, need, [artifact], folder);
    const archive = path.join(folder, readdirSync(folder).find((name) => name.endsWith('.tar.gz')) ?? 'missing');
    const unpacked = spawnSync(tar, ['-xzf', archive, '-C', folder, '--no-same-owner'], { encoding: 'utf8' });
    if (unpacked.status !== 0) throw new Error(`unpacking ${need.what}: ${unpacked.stderr}`);
    rmSync(archive);
  });
}
