import { ClickHouseError } from '@clickhouse/client';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { answerProblem } from '../../../api/koa-app.ts';
import { storeUnavailable } from '../../../api/problems.ts';
import type { ApiContext } from '../../../api/request.ts';

/** The log line and the answer when a handler fails with the error. */
function answerTo(error: unknown): { line: string; body: string } {
  const lines: string[] = [];
  const log = pino({}, { write: (line) => lines.push(line) });
  const context = { state: { requestId: 'r-1' }, path: '/id/v1/ruc/buscar', set() {}, remove() {}, body: '' };
  answerProblem(context as unknown as ApiContext, error, log, '');
  return { line: lines.join(''), body: context.body };
}

// ClickHouse quotes the query, and a search may contain a person's name.
test("an engine's error is logged without its quotes, and answered without its message", () => {
  const message = "Timeout exceeded: while executing FUNCTION like(name, '%PERSONA PLANTADA%')";
  const cause = new ClickHouseError({ message, code: '159', type: 'TIMEOUT_EXCEEDED' });
  for (const error of [storeUnavailable(cause), storeUnavailable(new Error('the query failed', { cause })), cause]) {
    const { line, body } = answerTo(error);
    expect(line).toContain('TIMEOUT_EXCEEDED');
    expect(line + body).not.toContain('PLANTADA');
    expect(body).not.toContain('TIMEOUT');
  }
});

test('a RUC is masked in the logged error and in its cause', () => {
  const cause = new Error('no row of 10990000013');
  const { line } = answerTo(new Error('look-up of 10990000013', { cause }));
  expect(line).toContain('look-up of 10*******13');
  expect(line).toContain('no row of 10*******13');
  expect(line).not.toContain('990000013');
});
