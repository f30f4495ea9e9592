import { expect, test } from 'vitest';
import { asFailure, failure, httpStatus } from '../../../../../deploy/local/clickhouse/reply.ts';

test("code and text of the engine's message", () => {
  const error = new Error("Code: 60. DB::Exception: Unknown table expression identifier 'x'. (UNKNOWN_TABLE)");
  expect(asFailure(error)).toMatchObject({ code: 60, text: error.message });
});

test('a text that the engine wrapped several times is shown once', () => {
  const error = new Error(
    'Code: 73. DB::Exception: Code: 73. DB::Exception: Code: 73. DB::Exception: Unknown format X. (UNKNOWN_FORMAT) (version 26.7.2.1). (UNKNOWN_FORMAT) (version 26.7.2.1). (UNKNOWN_FORMAT)',
  );
  expect(asFailure(error)).toMatchObject({
    code: 73,
    text: 'Code: 73. DB::Exception: Unknown format X. (UNKNOWN_FORMAT)',
  });
});

test('what we added to the query is not shown', () => {
  const clause = "INTO OUTFILE '/data/spool/result-1' TRUNCATE COMPRESSION 'none'";
  const error = new Error(
    `Code: 62. DB::Exception: Syntax error: failed at position 3: 1 ${clause} FORMAT CSV. (SYNTAX_ERROR)`,
  );
  expect(asFailure(error, [clause]).text).not.toContain('OUTFILE');
});

test('anything else is a plain exception', () => {
  expect(asFailure(new Error('boom'))).toMatchObject({
    code: 1001,
    text: 'Code: 1001. DB::Exception: boom. (STD_EXCEPTION)',
  });
  const ours = failure(202, 'TOO_MANY_SIMULTANEOUS_QUERIES', 'too many');
  expect(asFailure(ours)).toBe(ours);
});

test('statuses', () => {
  expect([62, 60, 516, 159, 202, 241].map(httpStatus)).toEqual([400, 404, 403, 408, 500, 500]);
});
