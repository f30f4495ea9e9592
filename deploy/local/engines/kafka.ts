import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { Kafka, logLevel } from 'kafkajs';
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
import { javaNeeds, toFetch } from '../prerequisites.ts';
import { type Engine, type EngineContext, engineFolder, javaEnvironment } from './context.ts';

const oneYearMinutes = 525_600;
const maxMessageBytes = 16 * 1024 * 1024; // a batch of some 5,000 rows fits
const addressNames = ['KAFKA_BROKERS'] as const;
const kafkaFolder = `kafka-${kafkaVersion}`;

export const kafka: Engine = {
  name: 'kafka',
  after: [],
  addressNames,
  endpoints: (context) => ({ KAFKA_BROKERS: brokerAddress(context) }),
  toolNeeds: (store) => [
    ...javaNeeds(store, kafkaMinimumJava, addressNames),
    ...toFetch(store, kafkaFolder, `Kafka ${kafkaVersion}`, addressNames, 'maven'),
  ],
  async prepare(context) {
    const java = await resolveJava(context.programs, kafkaMinimumJava, addressNames);
    const jars = await resolveKafka(context.programs);
    const folder = engineFolder(context, 'kafka');
    const environment = javaEnvironment(context);
    const logging = path.join(folder, 'log4j2.properties');
    writeFileSync(logging, loggingProperties);
    const options = [`-Dlog4j2.configurationFile=${logging}`, '-cp', path.join(jars, '*')];
    const data = path.join(folder, 'data');
    if (!existsSync(data)) format(context, java, options, environment, folder, data);
    const configuration = writeConfiguration(context, folder, data);
    return {
      name: 'kafka',
      command: java,
      args: [
        '-XX:+UseSerialGC',
        '-Xms128m',
        '-Xmx512m',
        '-XX:+ExitOnOutOfMemoryError',
        ...options,
        'kafka.Kafka',
        configuration,
      ],
      environment,
      workingDirectory: folder,
      stopSignal: 'SIGTERM',
      isReady: () => answers(context),
    };
  },
};

function brokerAddress(context: EngineContext): string {
  return `127.0.0.1:${context.ports.kafka}`;
}

function resolveKafka(store: ProgramStore): Promise<string> {
  const group = 'org.apache.kafka';
  return fetchOnce(store, kafkaFolder, (folder) =>
    fetchArtifacts(
      store,
      { what: `Kafka ${kafkaVersion}`, instead: addressNames },
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
  context: EngineContext,
  java: string,
  options: readonly string[],
  environment: Record<string, string>,
  folder: string,
  data: string,
): void {
  const unfinished = `${data}.new`;
  rmSync(unfinished, { recursive: true, force: true });
  const configuration = writeConfiguration(context, folder, unfinished);
  const clusterId = newClusterId();
  const tool = ['kafka.tools.StorageTool', 'format', '--cluster-id', clusterId, '--config', configuration];
  const result = spawnSync(java, ['-XX:TieredStopAtLevel=1', ...options, ...tool], {
    env: environment,
    encoding: 'utf8',
  });
  if (result.status !== 0) throw new Error(`formatting Kafka's log folder failed: ${result.stderr}${result.stdout}`);
  renameSync(unfinished, data);
}

/** 16 bytes in URL-safe base64. The first bit is 0, because a text that starts with "-" would be read as an option. */
function newClusterId(): string {
  const bytes = randomBytes(16);
  bytes.writeUInt8(bytes.readUInt8(0) & 0x7f, 0);
  return bytes.toString('base64url');
}

function writeConfiguration(context: EngineContext, folder: string, data: string): string {
  const file = path.join(folder, 'server.properties');
  const controller = `127.0.0.1:${context.ports.kafkaController}`;
  const properties: Record<string, string | number> = {
    'process.roles': 'broker,controller',
    'node.id': 1,
    // The voter's address is written anew at each start, because the port may change. Dynamic voters would be kept in
    // Kafka's log for ever, with the controller's port of the first start.
    'controller.quorum.voters': `1@${controller}`,
    listeners: `PLAINTEXT://${brokerAddress(context)},CONTROLLER://${controller}`,
    'advertised.listeners': `PLAINTEXT://${brokerAddress(context)}`,
    'listener.security.protocol.map': 'PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT',
    'controller.listener.names': 'CONTROLLER',
    'inter.broker.listener.name': 'PLAINTEXT',
    'log.dirs': data,
    'auto.create.topics.enable': 'false',
    'offsets.topic.replication.factor': 1,
    'offsets.topic.num.partitions': 10,
    'transaction.state.log.replication.factor': 1,
    'transaction.state.log.min.isr': 1,
    'transaction.state.log.num.partitions': 10,
    'share.coordinator.state.topic.replication.factor': 1,
    'share.coordinator.state.topic.min.isr': 1,
    'offsets.retention.minutes': oneYearMinutes,
    'log.retention.ms': -1,
    'log.retention.bytes': -1,
    'log.flush.interval.ms': 1000,
    'message.max.bytes': maxMessageBytes,
    'replica.fetch.max.bytes': maxMessageBytes,
    'group.initial.rebalance.delay.ms': 0,
  };
  writeFileSync(
    file,
    Object.entries(properties)
      .map(([key, value]) => `${key}=${propertyText(String(value))}\n`)
      .join(''),
  );
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

async function answers(context: EngineContext): Promise<boolean> {
  const client = new Kafka({
    brokers: [brokerAddress(context)],
    logLevel: logLevel.NOTHING,
    connectionTimeout: 1000,
    requestTimeout: 2000,
    retry: { retries: 0 },
  });
  const admin = client.admin();
  try {
    await admin.connect();
    return (await admin.describeCluster()).brokers.length === 1;
  } finally {
    await admin.disconnect();
  }
}
