import kafkajs, { type Admin, type Kafka } from 'kafkajs';
import { changesTopic, editionsTopic, type RegisterName } from '../../schemas/registers.ts';
import type { SchemaName } from '../changes/record.ts';
import { defaultReplica } from '../runtime/replica-settings.ts';
import { connectAdmin, StreamError, untilSettled } from './kafka.ts';

/**
 * The most bytes in a batch that the broker accepts. The producer's batches stay far below this limit. Its chunks have
 * at most some 5,000 rows and 4 MB over all partitions (`rowsPerChunk` in producer/main.ts).
 */
const maxMessageBytes = 8 * 1024 * 1024;

/**
 * Records are kept for ever, so that a new consumer group can read all history. Settings that equal Kafka's defaults
 * are also listed, because the operators of the brokers may have set other defaults.
 */
const topicSettings: Readonly<Record<string, string>> = {
  'cleanup.policy': 'delete',
  'retention.ms': '-1',
  'retention.bytes': '-1',
  'max.message.bytes': String(maxMessageBytes),
};

const knownWithinMs = 30_000;

interface TopicPlan {
  prefix: string;
  register: RegisterName;
  /** Number of partitions of the changes topic, from register_head.partitions. */
  partitions: number;
}

function wantedTopics({ prefix, register, partitions }: TopicPlan) {
  return [
    { topic: changesOutput(prefix, register).topic, partitions },
    { topic: editionsOutput(prefix, register).topic, partitions: 1 },
  ];
}

/** Creates the missing topics when a release is deployed, then checks all topics. A repeat creates nothing. */
export async function ensureTopics(kafka: Kafka, plan: TopicPlan): Promise<void> {
  await withAdmin(kafka, async (admin) => {
    const existing = new Set(await admin.listTopics());
    const missing = wantedTopics(plan).filter(({ topic }) => !existing.has(topic));
    if (missing.length > 0) {
      await admin.createTopics({
        // The client's own wait for the leaders fails while the broker does not know the new topic yet. The check below
        // waits instead.
        waitForLeaders: false,
        timeout: 30_000,
        topics: missing.map(({ topic, partitions }) => ({
          topic,
          numPartitions: partitions,
          // With -1 the broker uses its own default number of replicas.
          replicationFactor: -1,
          configEntries: Object.entries(topicSettings).map(([name, value]) => ({ name, value })),
        })),
      });
    }
    // A busy broker may report a new topic as unknown or without a leader for a moment, so the check is repeated.
    await untilSettled(() => check(admin, plan), isNotYetKnown, knownWithinMs);
  });
}

function isNotYetKnown(error: unknown): boolean {
  if (error instanceof StreamError) return error.code === 'topic_missing';
  const cause = error instanceof kafkajs.KafkaJSNumberOfRetriesExceeded ? error.cause : error;
  const types = ['UNKNOWN_TOPIC_OR_PARTITION', 'LEADER_NOT_AVAILABLE'];
  return cause instanceof kafkajs.KafkaJSProtocolError && types.includes(cause.type);
}

/**
 * Checks that both topics of a register exist with the right settings.
 * @throws StreamError `topic_missing` if a topic does not exist
 * @throws StreamError `topic_settings_differ` if a topic's settings or its number of partitions are wrong
 */
export async function checkTopics(kafka: Kafka, plan: TopicPlan): Promise<void> {
  await withAdmin(kafka, (admin) => check(admin, plan));
}

async function check(admin: Admin, plan: TopicPlan): Promise<void> {
  const wanted = wantedTopics(plan);
  const existing = new Set(await admin.listTopics());
  for (const { topic } of wanted) {
    if (existing.has(topic)) continue;
    throw new StreamError('topic_missing', `topic ${topic} does not exist: run \`padron migrate\``);
  }
  const { topics } = await admin.fetchTopicMetadata({ topics: wanted.map(({ topic }) => topic) });
  const counts = new Map(topics.map(({ name, partitions }) => [name, partitions.length]));
  const { resources } = await admin.describeConfigs({
    includeSynonyms: false,
    resources: wanted.map(({ topic }) => ({
      type: kafkajs.ConfigResourceTypes.TOPIC,
      name: topic,
      configNames: Object.keys(topicSettings),
    })),
  });
  for (const { topic, partitions } of wanted) {
    const entries = resources.find(({ resourceName }) => resourceName === topic)?.configEntries ?? [];
    const found = new Map(entries.map(({ configName, configValue }) => [configName, configValue]));
    checkSettings(topic, found);
    checkPartitions(topic, counts.get(topic) ?? 0, partitions);
  }
}

function checkSettings(topic: string, found: ReadonlyMap<string, string>): void {
  const wrong = Object.entries(topicSettings).filter(([name, value]) => found.get(name) !== value);
  if (wrong.length === 0) return;
  const differences = wrong.map(([name, value]) => `${name} is ${found.get(name) ?? 'not known'}, must be ${value}`);
  const change = wrong.map(([name, value]) => `${name}=${value}`).join(',');
  throw new StreamError(
    'topic_settings_differ',
    `topic ${topic}: ${differences.join('; ')}. Records could be lost. Change it with: ` +
      `kafka-configs.sh --bootstrap-server <broker> --alter --entity-type topics --entity-name ${topic} --add-config ${change}`,
  );
}

function checkPartitions(topic: string, found: number, wanted: number): void {
  if (found === wanted) return;
  throw new StreamError(
    'topic_settings_differ',
    `topic ${topic} has ${found} partitions, but register_head.partitions says ${wanted}: a RUC's changes would be ` +
      'spread over two partitions and lose their order. They grow together, between editions only.',
  );
}

async function withAdmin<Result>(kafka: Kafka, work: (admin: Admin) => Promise<Result>): Promise<Result> {
  const admin = await connectAdmin(kafka);
  try {
    return await work(admin);
  } finally {
    await admin.disconnect();
  }
}

/**
 * Never change the names that these two functions return: a consumer group with a new name would read every topic from
 * its beginning again. Each ClickHouse replica has a group of its own. The group of the replica `default` is the one
 * that an installation with a single ClickHouse server has.
 */
export function materializeGroup(prefix: string, replica: string = defaultReplica): string {
  return `${prefix}padron.materialize${replica === defaultReplica ? '' : `-${replica}`}`;
}
export function watchGroup(prefix: string): string {
  return `${prefix}padron.watch`;
}

/** A topic, the subject in the schema registry for the values of its records, and the schema of these values. */
export interface Output {
  topic: string;
  subject: string;
  schema: SchemaName;
}

export function changesOutput(prefix: string, register: RegisterName): Output {
  const topic = changesTopic(prefix, register);
  return { topic, subject: `${topic}-value`, schema: register };
}

/** The editions topic has one partition, so that editions are in order. */
export function editionsOutput(prefix: string, register: RegisterName): Output {
  const topic = editionsTopic(prefix, register);
  return { topic, subject: `${topic}-value`, schema: 'edition' };
}

export function outputsOf(prefix: string, register: RegisterName): readonly Output[] {
  return [changesOutput(prefix, register), editionsOutput(prefix, register)];
}
