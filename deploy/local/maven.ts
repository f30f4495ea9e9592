import { rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { findProgram, missing, type Need } from './prerequisites.ts';
import { type ProgramStore, runFetch } from './programs.ts';
import { mavenDependencyPluginVersion } from './versions.ts';

export interface Artifact {
  group: string;
  name: string;
  version: string;
  type?: string;
  classifier?: string;
  /** Without what it depends on. */
  alone?: boolean;
}

/** Copies artifacts and all that they need at run time into a folder, by Maven with a generated project file. */
export async function fetchArtifacts(store: ProgramStore, need: Need, artifacts: readonly Artifact[], folder: string) {
  const maven = findProgram(store.searchPath, 'mvn');
  if (!maven) throw missing('Maven', 'Debian: apt-get install maven; macOS: brew install maven', need);
  const project = path.join(folder, 'pom.xml');
  writeFileSync(project, projectFile(artifacts));
  const plugin = `org.apache.maven.plugins:maven-dependency-plugin:${mavenDependencyPluginVersion}`;
  await runFetch(store.log, need.what, maven, [
    '--batch-mode',
    '--strict-checksums',
    '--file',
    project,
    `${plugin}:copy-dependencies`,
    '-DincludeScope=runtime',
    `-DoutputDirectory=${folder}`,
  ]);
  rmSync(project);
}

function projectFile(artifacts: readonly Artifact[]): string {
  return `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>padron.local</groupId>
  <artifactId>programs</artifactId>
  <version>1</version>
  <packaging>pom</packaging>
  <dependencies>
${artifacts.map(dependency).join('\n')}
  </dependencies>
</project>
`;
}

function dependency(artifact: Artifact): string {
  const alone = '<exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions>';
  return [
    '    <dependency>',
    `<groupId>${artifact.group}</groupId><artifactId>${artifact.name}</artifactId><version>${artifact.version}</version>`,
    artifact.type ? `<type>${artifact.type}</type>` : '',
    artifact.classifier ? `<classifier>${artifact.classifier}</classifier>` : '',
    artifact.alone ? alone : '',
    '</dependency>',
  ].join('');
}
