import kafkajs from 'kafkajs';
import { expect, test, vi } from 'vitest';
import { isAway, untilSettled } from '../../../../pipelines/stream/kafka.ts';

const { KafkaJSConnectionError, KafkaJSNonRetriableError, KafkaJSProtocolError } = kafkajs;
const caused = (error: Error, cause: Error) => Object.assign(error, { cause });
const named = (name: string) => Object.assign(new Error(name), { name });
const protocol = (type: string) => Object.assign(new KafkaJSProtocolError(type), { type });

test.each<[string, Error]>([
  ['a broker that does not answer', new KafkaJSConnectionError('Connection timeout', { broker: 'b:1' })],
  [
    'the last of many tries',
    caused(named('KafkaJSNumberOfRetriesExceeded'), new KafkaJSConnectionError('refused', { code: 'ECONNREFUSED' })),
  ],
  [
    'a coordinator that no broker knows, which the client takes for final',
    caused(new KafkaJSNonRetriableError('final'), named('KafkaJSGroupCoordinatorNotFound')),
  ],
  ['a partition whose leader moved', protocol('NOT_LEADER_FOR_PARTITION')],
])('%s passes when the brokers are back', (_, error) => {
  expect(isAway(error)).toBe(true);
});

test.each<[string, unknown]>([
  ['a right that is missing', protocol('TOPIC_AUTHORIZATION_FAILED')],
  ['a bug', new TypeError('undefined is not a function')],
  ['something that is no error', 'closed'],
])('%s does not pass by itself', (_, error) => {
  expect(isAway(error)).toBe(false);
});

test('a call is repeated while brokers are away, and not after another error', async () => {
  const call = vi.fn<() => Promise<string>>();
  call.mockRejectedValueOnce(named('KafkaJSBrokerNotFound')).mockResolvedValueOnce('done');
  expect(await untilSettled(call)).toBe('done');
  expect(call).toHaveBeenCalledTimes(2);
  call.mockRejectedValueOnce(new TypeError('a bug'));
  await expect(untilSettled(call)).rejects.toThrow('a bug');
});
