import { expect, test } from 'vitest';
import { rucTyped } from '../../../../api/search/terms.ts';

test.each([
  '20131312955',
  '20-13131295-5',
  '20 131 312 955',
  '2.0.1 3131.2955',
  'RUC 20131312955',
  'ruc: 20131312955.',
  'R.U.C. N° 20131312955',
  'R.U.C. Nº 20-13131295-5',
  'R. U. C. N.º 20131312955',
  'RUC No. 20131312955',
  'RUC NRO.20131312955',
  'Número de RUC: 20131312955',
  'RUC\u00a0№\u00a020131312955',
  'RUC20131312955',
])('%j is a RUC', (typed) => expect(rucTyped(typed)).toBe('20131312955'));

test.each([
  '2013131295',
  '201313129551',
  'RUC',
  'RUC 2013131295',
  'INVERSIONES 20131312955',
  '20131312955 SAC',
  // The digits of another script are no RUC, also beside eleven others.
  '２０１３１３１２９５５',
  '20131312955２',
])('%j is none', (typed) => expect(rucTyped(typed)).toBeNull());
