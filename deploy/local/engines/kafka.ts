import { Kafka, logLevel } from 'kafkajs';
import { kafkaMinimumJava, kafkaVersion } from '../fetch.ts';
import { javaNeeds, toFetch } from '../prerequisites.ts';
import { type Engine, type EngineContext, engineFolder } from './context.ts';
import { kafkaAddressNames, kafkaFolder, launchKafka, newClusterId } from './kafka-node.ts';

const oneYearMinutes = 525_600;
const maxMessageBytes = 16 * 1024 * 1024; // a batch of some 5,000 rows fits

export const kafka: Engine = {
  name: 'kafka',
  after: [],
  addressNames: kafkaAddressNames,
  endpoints: (context) => ({ KAFKA_BROKERS: brokerAddress(context) }),
  toolNeeds: (store) => [
    ...javaNeeds(store, kafkaMinimumJava, kafkaAddressNames),
    ...toFetch(store, kafkaFolder, `Kafka ${kafkaVersion}`, kafkaAddressNames, 'maven'),
  ],
  prepare: (context) =>
    launchKafka(context, {
      name: 'kafka',
      folder: engineFolder(context, 'kafka'),
      properties: propertiesOf(context),
      clusterId: newClusterId(),
      isReady: () => answers(context),
    }),
};

function brokerAddress(context: EngineContext): string {
  return `127.0.0.1:${context.ports.kafka}`;
}

function propertiesOf(context: EngineContext): Record<string, string | number> {
  const controller = `127.0.0.1:${context.ports.kafkaController}`;
  return {
    'process.roles': 'broker,controller',
    'node.id': 1,
    // The voter's address is written anew at each start, because the port may change. Dynamic voters would be kept in
    // Kafka's log for ever, with the controller's port of the first start.
    'controller.quorum.voters': `1@${controller}`,
    listeners: `PLAINTEXT://${brokerAddress(context)},CONTROLLER://${controller}`,
    'advertised.listeners': `PLAINTEXT://${brokerAddress(context)}`,
    'listener.security.protocol.map': 'PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT',
    'inter.broker.listener.name': 'PLAINTEXT',
    'offsets.topic.replication.factor': 1,
    'transaction.state.log.replication.factor': 1,
    'transaction.state.log.min.isr': 1,
    'share.coordinator.state.topic.replication.factor': 1,
    'share.coordinator.state.topic.min.isr': 1,
    ...commonKafkaProperties,
  };
}

/** Properties that do not depend on how many brokers there are. */
export const commonKafkaProperties = {
  'controller.listener.names': 'CONTROLLER',
  'auto.create.topics.enable': 'false',
  'offsets.topic.num.partitions': 10,
  'transaction.state.log.num.partitions': 10,
  'offsets.retention.minutes': oneYearMinutes,
  'log.retention.ms': -1,
  'log.retention.bytes': -1,
  'log.flush.interval.ms': 1000,
  'message.max.bytes': maxMessageBytes,
  'replica.fetch.max.bytes': maxMessageBytes,
  'group.initial.rebalance.delay.ms': 0,
};

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
