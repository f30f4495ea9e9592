import { expect, test } from 'vitest';
import { isUnavailable } from '../../../api/problems.ts';

const failure = (code: string) => Object.assign(new Error('no'), { code });

test.each(['08006', '53200', '57P01', '40P01', '40001', 'ECONNREFUSED', 'EAI_AGAIN'])(
  '%s says nothing about the request: it may be repeated',
  (code) => expect(isUnavailable(failure(code))).toBe(true),
);

test.each(['23505', '40002', '40P01X', '22001', ''])('%s is our own defect', (code) =>
  expect(isUnavailable(failure(code))).toBe(false),
);
