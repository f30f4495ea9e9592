import { expect, test } from 'vitest';
import { z } from 'zod';
import { parseInput } from '../../../api/request.ts';
import { batchRequest } from '../../../schemas/http/batch.ts';
import { newList } from '../../../schemas/http/lists.ts';
import { searchQuery } from '../../../schemas/http/search.ts';
import { newWebhook, resumption } from '../../../schemas/http/webhooks.ts';

function detailOf(schema: z.ZodType, input: unknown): string {
  try {
    parseInput(schema, input);
  } catch (error) {
    return (error as Error).message;
  }
  throw new Error('the input was taken');
}

const url = 'https://ejemplo.pe/avisos';

test.each([
  ['what is missing', searchQuery, {}, 'q: es obligatorio.'],
  ['a parameter sent twice', searchQuery, { q: ['uno', 'dos'] }, 'q: debe ser un solo texto.'],
  ['numbers for texts', batchRequest, { rucs: [20131312955] }, 'rucs.0: debe ser un texto, entre comillas en JSON.'],
  ['a text for a list', batchRequest, { rucs: '20131312955' }, 'rucs: debe ser una lista, entre corchetes.'],
  ['a list for the body', batchRequest, ['20131312955'], 'cuerpo: debe ser un objeto JSON, entre llaves.'],
  ['a limit', newWebhook, { url, limite_por_segundo: 900 }, 'limite_por_segundo: debe ser un número hasta 200.'],
  ['no whole number', newWebhook, { url, en_vuelo: 1.5 }, 'en_vuelo: debe ser un número entero.'],
  ['another kind', z.strictObject({ sector: z.enum(['a', 'b', 'c']) }), { sector: 'd' }, 'sector: debe ser a, b o c.'],
  ['words of the schema itself', newList, { nombre: ' ' }, 'nombre: no puede estar vacío.'],
  [
    'a choice of forms',
    resumption,
    { pendientes: 'algunos' },
    expect.stringContaining('debe ser "todos", "ninguno" o'),
  ],
])('%s: the message says what to send', (_, schema, input, detail) => {
  expect(detailOf(schema as z.ZodType, input)).toEqual(detail);
});

test('the message never repeats the value', () => {
  expect(detailOf(z.strictObject({ id: z.uuid() }), { id: '10990000013' })).not.toContain('1099');
});
