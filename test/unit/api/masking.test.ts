import { expect, test } from 'vitest';
import { maskedPath, maskText } from '../../../api/problems.ts';

test.each([
  ['/id/v1/ruc/20990000019', '/id/v1/ruc/20990000019'],
  ['/id/v1/ruc/10990000013', '/id/v1/ruc/10*******13'],
  ['/id/v1/ruc/1099000001', '/id/v1/ruc/10*******01'],
  ['/id/v1/ruc/109900000130', '/id/v1/ruc/10*******30'],
  // Without its first two digits a RUC is a national id. Encoded digits count as digits.
  ['/id/v1/ruc/99000001', '/id/v1/ruc/99*******01'],
  ['/id/v1/ruc/%31%30990000013', '/id/v1/ruc/10*******13'],
  ['/id/v1/ruc/１０９９００００013', `/id/v1/ruc/${encodeURI('１０')}*******13`],
  ['/id/v1/ruc/%E0%A4%A', '/'],
  // An encoded ? or # in the path begins no query and no fragment.
  ['/id/v1/ruc/a%3Fq=b%23c', '/id/v1/ruc/a%3Fq=b%23c'],
  ['/id/v1/watch/listas/12', '/id/v1/watch/listas/12'],
])('%s', (path, masked) => expect(maskedPath(path)).toBe(masked));

test('inside any text', () => {
  expect(maskText('IN (10990000013,20990000019) y 17990000014')).toBe('IN (10*******13,20990000019) y 17*******14');
});
