import { ClickHouseError } from '@clickhouse/client';
import { expect, test } from 'vitest';
import { describeError } from '../../../../pipelines/runtime/log.ts';

function thrownBy(work: () => unknown): unknown {
  try {
    return work();
  } catch (error) {
    return error;
  }
}

test('an error of JSON.parse is logged with its place and never with the text that it read', () => {
  const broken = thrownBy(() => JSON.parse('["PERSONA PLANTADA",x]'));
  expect(String(broken)).toContain('PLANTADA');
  for (const described of [
    describeError(broken),
    describeError(new Error('a row cannot be read', { cause: broken })),
  ]) {
    expect(JSON.stringify(described)).not.toContain('PLANTADA');
    expect(JSON.stringify(described)).toContain('log.test.ts');
    expect(JSON.stringify(described)).toContain('SyntaxError');
  }
});

test("ClickHouse's error is logged with its code and name, any other with its message and stack", () => {
  const error = new ClickHouseError({ message: 'in PLANTADA', code: '159', type: 'TIMEOUT_EXCEEDED' });
  expect(describeError(error)).toEqual({ name: 'ClickHouseError', code: '159', type: 'TIMEOUT_EXCEEDED' });
  expect(describeError(new Error('the line was cut'))).toMatchObject({ name: 'Error', message: 'the line was cut' });
  expect(describeError('text')).toEqual({ message: 'text' });
});
