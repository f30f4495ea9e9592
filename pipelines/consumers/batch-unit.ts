import { peekChange } from '../changes/record.ts';
import type { Attributes, Unit } from '../runtime/tracing/tracing.ts';
import type { ChangeBatch } from './batch.ts';

/** A batch in traces: where it stands in Kafka, by the messaging conventions of OpenTelemetry, and of which editions it is. */
export function unitOf(group: string, { register, topic, partition, ...batch }: ChangeBatch): Unit {
  return {
    name: `process ${topic}`,
    kind: 'consumer',
    attributes: {
      'messaging.system': 'kafka',
      'messaging.operation.name': 'process',
      'messaging.operation.type': 'process',
      'messaging.destination.name': topic,
      'messaging.destination.partition.id': String(partition),
      'messaging.consumer.group.name': group,
      'messaging.batch.message_count': batch.messages.length,
      'padron.register': register,
      'padron.offset.first': Number(batch.firstOffset),
      'padron.offset.last': Number(batch.lastOffset),
    },
  };
}

/** Editions stand one after another in a partition; a record that cannot be decoded is of none. */
export function editionsOf({ messages }: ChangeBatch): Attributes {
  try {
    const [first, last] = [peekChange(messages[0]!.value).edition, peekChange(messages.at(-1)!.value).edition];
    return first === last
      ? { 'padron.edition': first }
      : { 'padron.edition.first': first, 'padron.edition.last': last };
  } catch {
    return {};
  }
}
