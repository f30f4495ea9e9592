import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import {
  fetchArtifacts,
  fetchOnce,
  kafkaMinimumJava,
  kafkaScalaVersion,
  kafkaVersion,
  log4jVersion,
  type ProgramStore,
  resolveJava,
} from '../fetch.ts';
import type { Launch } from '../supervise.ts';
import { type EngineContext, javaEnvironment } from './context.ts';

export const kafkaAddressNames = ['KAFKA_BROKERS'] as const;
export const kafkaFolder = `kafka-${kafkaVersion}`;

type KafkaProperties = Readonly<Record<string, string | number>>;

/** A broker that is a controller too. A cluster has one or several. */
export interface KafkaNode {
  name: string;
  /** Folder of the node's data and files. */
  folder: string;
  /** The properties of the server, all but `log.dirs`. */
  properties: KafkaProperties;
  /** All nodes of a cluster are formatted with the same id. */
  clusterId: string;
  /** Further words of the command that formats the data folder, such as the first logins. */
  formatWords?: readonly string[];
  isReady(): Promise<boolean>;
}

/** Fetches Kafka, makes the node's data folder unless it exists, and returns how to start the node. */
export async function launchKafka(
  context: Pick<EngineContext, 'programs' | 'javaOptions'>,
  node: KafkaNode,
): Promise<Launch> {
  const java = await resolveJava(context.programs, kafkaMinimumJava, kafkaAddressNames);
  const jars = await resolveKafka(context.programs);
  const { name, folder } = node;
  const environment = javaEnvironment(context);
  mkdirSync(folder, { recursive: true });
  const logging = path.join(folder, 'log4j2.properties');
  writeFileSync(logging, loggingProperties);
  const options = [`-Dlog4j2.configurationFile=${logging}`, '-cp', path.join(jars, '*')];
  const data = path.join(folder, 'data');
  if (!existsSync(data)) format(node, java, options, environment, data);
  const configuration = writeConfiguration(node, data);
  const memory = ['-XX:+UseSerialGC', '-Xms128m', '-Xmx512m', '-XX:+ExitOnOutOfMemoryError'];
  return {
    name,
    command: java,
    args: [...memory, ...options, 'kafka.Kafka', configuration],
    environment,
    workingDirectory: folder,
    stopSignal: 'SIGTERM',
    isReady: () => node.isReady(),
  };
}

function resolveKafka(store: ProgramStore): Promise<string> {
  const group = 'org.apache.kafka';
  return fetchOnce(store, kafkaFolder, (folder) =>
    fetchArtifacts(
      store,
      { what: `Kafka ${kafkaVersion}`, instead: kafkaAddressNames },
      [
        { group, name: `kafka_${kafkaScalaVersion}`, version: kafkaVersion },
        { group, name: 'kafka-tools', version: kafkaVersion },
        { group: 'org.apache.logging.log4j', name: 'log4j-slf4j-impl', version: log4jVersion },
      ],
      folder,
    ),
  );
}

/**
 * Formats the data folder under another name and renames it when it is complete, so that after a crash no incomplete
 * folder has the final name.
 */
function format(
  node: KafkaNode,
  java: string,
  options: readonly string[],
  environment: Record<string, string>,
  data: string,
): void {
  const unfinished = `${data}.new`;
  rmSync(unfinished, { recursive: true, force: true });
  const configuration = writeConfiguration(node, unfinished);
  const tool = ['kafka.tools.StorageTool', 'format', '--cluster-id', node.clusterId, '--config', configuration];
  const words = ['-XX:TieredStopAtLevel=1', ...options, ...tool, ...(node.formatWords ?? [])];
  const result = spawnSync(java, words, { env: environment, encoding: 'utf8' });
  if (result.status !== 0) throw new Error(`formatting Kafka's log folder failed: ${result.stderr}${result.stdout}`);
  renameSync(unfinished, data);
}

/** 16 bytes in URL-safe base64. The first bit is 0, because a text that starts with "-" would be read as an option. */
export function newClusterId(): string {
  const bytes = randomBytes(16);
  bytes.writeUInt8(bytes.readUInt8(0) & 0x7f, 0);
  return bytes.toString('base64url');
}

function writeConfiguration({ folder, properties }: KafkaNode, data: string): string {
  const file = path.join(folder, 'server.properties');
  const lines = Object.entries({ ...properties, 'log.dirs': data }).map(
    ([key, value]) => `${key}=${propertyText(String(value))}\n`,
  );
  // The logins that it may hold are for nobody else.
  writeFileSync(file, lines.join(''), { mode: 0o600 });
  return file;
}

/** Java reads property files as Latin-1, with escapes. So backslashes and all but printable ASCII are escaped. */
function propertyText(value: string): string {
  return value.replace(/[^ -~]|\\/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

const loggingProperties = `status=error
appender.console.type=Console
appender.console.name=console
appender.console.layout.type=PatternLayout
appender.console.layout.pattern=%d{ISO8601} %p %c{1} %m%n
rootLogger.level=warn
rootLogger.appenderRef.console.ref=console
`;
