import { expect, test } from 'vitest';
import type { ApiDependencies } from '../../../../api/dependencies.ts';
import { recordFound } from '../../../../api/queries/record.ts';
import type { ApiContext } from '../../../../api/request.ts';
import { makeTaxpayerHandlers } from '../../../../api/routes/taxpayer.ts';
import { servedRegister } from '../../../support/api/served-catalogue.ts';
import { ubigeos } from '../../../support/api/taxpayer-records.ts';

test('look-ups of one snapshot share its sources, and why a person has no address stays in his own answer', async () => {
  const editions = { padron_reducido: servedRegister('padron_reducido') };
  const cells = { padron_reducido: ['X', 'ACTIVO', 'HABIDO', '-'] };
  const { consultarRuc } = makeTaxpayerHandlers({
    meter: { requireUnits: async () => {}, charge: async () => {} },
    findRecord: async (ruc: string) => recordFound(ruc, editions, cells, { ubigeos, countUnknownUbigeo() {} }),
    recordAnswers: async () => {},
    now: () => new Date('2026-11-02T12:00:00Z'),
  } as unknown as ApiDependencies);
  const context = { state: { caller: { contract: 'C-1' }, requestId: 'r' } } as ApiContext;
  const ask = (ruc: string) => consultarRuc({ params: { ruc }, query: {}, body: undefined }, context);

  const before = await ask('20990000019');
  const person = await ask('10000000014');
  const after = await ask('20990000019');

  expect(person.meta.direccion_motivo).toBe('no_publicada_persona_natural');
  expect(after.meta).toBe(before.meta);
  expect(after.meta).not.toHaveProperty('direccion_motivo');
});
