import { expect, test } from 'vitest';
import { z } from 'zod';
import { makeDocument } from '../../../../api/openapi/document.ts';
import { portableSchema, type Schema } from '../../../../api/openapi/portable-schema.ts';
import { readExamples } from '../../../../api/openapi/texts.ts';
import { type Operation, operations, statusOf } from '../../../../api/operations.ts';
import { batchEntry } from '../../../../schemas/http/batch.ts';
import { eventPayload } from '../../../../schemas/http/events.ts';
import { newList } from '../../../../schemas/http/lists.ts';
import { searchQuery } from '../../../../schemas/http/search.ts';
import { portabilityFaults, schemaFaults } from '../../../support/api/portable-document.ts';

test('the document has nothing that generators of clients are known to stumble over', () => {
  expect(portabilityFaults(makeDocument('https://api.example.pe', readExamples()))).toEqual([]);
});

// What zod writes for these, and what the walk must find in it.
test.each<[string, z.ZodType, string]>([
  ['a letter of any alphabet', z.string().regex(/^\p{L}$/u), 'the pattern'],
  ['a look ahead', z.string().regex(/^(?=a)a$/), 'the pattern'],
  ['a look behind', z.string().regex(/^(?<=a)a$/), 'the pattern'],
  ['a pattern for a part of the text', z.string().regex(/[0-9]{11}/), 'the pattern'],
  ['a null character', z.string().regex(/^[^\0]*$/), 'the pattern'],
  ['a bracket in a class', z.string().regex(/^[a[]$/), 'the pattern'],
  ['more repeats than Go has', z.string().regex(/^a{1,1001}$/), 'the pattern'],
  ['a pattern beside a format', z.iso.date(), 'beside a format'],
  ['a text of another format', z.email(), 'the format email'],
  ['only null', z.null(), 'only null'],
  ['several types', z.union([z.string(), z.boolean()]), 'a list of the types'],
  ['several types or null', z.union([z.string(), z.boolean()]).nullable(), 'a list of the types'],
  ['anything', z.unknown(), 'has no type'],
  ['one value', z.literal(true), 'const is not read'],
  ['an excluded limit', z.int().positive().max(9), 'exclusiveMinimum is not read'],
  ['whole numbers without a limit', z.int(), '32 bits'],
  ['a tuple', z.tuple([z.string(), z.int().max(9)]), 'prefixItems is not read'],
  ['a map with known keys', z.record(z.enum(['a', 'b']), z.string()), 'propertyNames is not read'],
  ['a list as default', z.array(z.enum(['a', 'b'])).default(['a']), 'a default that is a list'],
  ['alternatives', z.union([z.string().max(3), z.string().min(5)]), 'anyOf is not read'],
  ['two patterns', z.string().regex(/^a/).regex(/b$/), 'allOf is not read'],
  ['a name with an accent', z.object({ año: z.string() }), 'año is no identifier'],
  ['names that become one', z.object({ fecha_dato: z.string(), fechadato: z.string() }), 'fechadato clashes'],
  ['values that become one', z.enum(['ACTIVO', 'activo']), 'activo clashes'],
])('the walk finds %s', (_, schema, fault) => {
  expect(schemaFaults('', z.toJSONSchema(schema) as Record<string, unknown>).join('\n')).toContain(fault);
});

test('the walk finds names of operations and parameters that are missing, strange or alike', () => {
  const response = { responses: { 200: { description: 'Hecho' } } };
  const parameters = ['ruc', 'RUC', 'año'].map((name) => ({ in: 'query' as const, name, schema: { $ref: '#/nada' } }));
  const document = {
    openapi: '3.1.0' as const,
    info: { title: 'Padrón', version: '1' },
    tags: [{ name: 'Año' }],
    paths: {
      '/a': { get: { ...response, operationId: 'verListas' }, post: { ...response, operationId: 'verlistas' } },
      '/b': { get: { ...response, operationId: 'buscar', parameters }, post: response },
    },
    components: { schemas: { Ítem: { type: 'object' as const } } },
  };
  const faults = portabilityFaults(document).join('\n');
  for (const fault of [
    'info.title',
    'tag Año',
    'verlistas clashes',
    '/b: has no',
    'RUC clashes',
    'año is',
    'Ítem',
    '#/nada',
  ])
    expect(faults).toContain(fault);
});

const published = (schema: z.ZodType): unknown => portableSchema(z.toJSONSchema(schema, { io: 'output' }) as Schema);

test('what the batch says of a RUC is one object with one nullable boolean', () => {
  const { properties, required } = published(batchEntry) as Schema;
  expect(properties).toMatchObject({
    ruc: { type: 'string' },
    encontrado: { type: ['boolean', 'null'] },
    data: { type: 'object' },
    codigo: {
      type: 'string',
      enum: ['ruc_no_encontrado', 'ruc_formato', 'ruc_digito_verificador', 'contrato_requerido'],
    },
    mensaje: { type: 'string' },
  });
  expect(required).toEqual(['ruc', 'encontrado']);
});

test('a value of several types is a choice', () => {
  const { properties } = published(eventPayload.shape.datos) as Schema;
  const value = { oneOf: [{ type: 'string' }, { type: 'boolean' }, { type: 'null' }] };
  expect(properties).toMatchObject({ antes: value, despues: value });
});

test.each<[string, z.ZodType, unknown]>([
  ['a day', z.iso.date(), { type: 'string', format: 'date' }],
  ['a day or null', z.iso.date().nullable(), { type: ['string', 'null'], format: 'date' }],
  ['a day or an hour', z.union([z.iso.date(), z.iso.datetime()]), { type: 'string' }],
  [
    'a value or null',
    z.enum(['a', 'b']).nullable(),
    { oneOf: [{ type: 'string', enum: ['a', 'b'] }, { type: 'null' }] },
  ],
  ['one text', z.literal('a'), { type: 'string', enum: ['a'] }],
  ['one boolean', z.literal(false), { type: 'boolean' }],
  ['one of two numbers', z.union([z.literal(50), z.literal(90)]), { type: 'integer', enum: [50, 90] }],
  ['a whole number', z.int().min(1), { type: 'integer', format: 'int64', minimum: 1 }],
  ['a small number or null', z.int().min(0).max(9).nullable(), { type: ['integer', 'null'], minimum: 0, maximum: 9 }],
  [
    'a list with a default',
    z.array(z.enum(['a'])).default(['a']),
    { type: 'array', items: { type: 'string', enum: ['a'] } },
  ],
  ['a map', z.record(z.enum(['1', '2']), z.string()), { type: 'object', additionalProperties: { type: 'string' } }],
  [
    'a text or an object',
    z.union([z.enum(['todos']), z.strictObject({ desde: z.string() })]).default('todos'),
    {
      oneOf: [
        { type: 'string', enum: ['todos'] },
        { type: 'object', properties: { desde: { type: 'string' } }, required: ['desde'], additionalProperties: false },
      ],
    },
  ],
  [
    'one or many',
    z.union([z.strictObject({ ruc: z.string() }), z.strictObject({ rucs: z.array(z.string()) })]),
    {
      type: 'object',
      properties: { ruc: { type: 'string' }, rucs: { type: 'array', items: { type: 'string' } } },
      additionalProperties: false,
    },
  ],
])('%s is published in the common form', (_, schema, shown) => {
  const { $schema, ...result } = published(schema) as Record<string, unknown>;
  expect(result).toEqual(shown);
  expect(portableSchema(result as Schema), 'a second time changes nothing').toEqual(shown);
});

test('the published schema takes the example of every answer', () => {
  const { paths, components } = makeDocument('', {});
  const local = (part: unknown) => JSON.parse(JSON.stringify(part).replaceAll('#/components/schemas/', '#/$defs/'));
  const $defs = local(components!.schemas);
  const examples = readExamples();
  const all = Object.entries<Operation>(operations).filter(([, { answer }]) => answer !== undefined);
  for (const [name, operation] of all) {
    const item = paths![operation.path]![operation.method]!;
    const { content } = item.responses![`${statusOf(operation) as 200}`] as {
      content: Record<string, { schema: object }>;
    };
    const schema = z.fromJSONSchema({ ...local(content['application/json']!.schema), $defs });
    const { error } = schema.safeParse(examples[name]?.answer);
    expect(error && z.prettifyError(error), name).toBeUndefined();
  }
});

test('what is no longer published is still checked', () => {
  const status = (estado: string) => searchQuery.safeParse({ q: 'comercial', estado }).success;
  expect(['ACTIVO', 'SUSPENSIÓN TEMPORAL', 'x'.repeat(60)].map(status)).toEqual([true, true, true]);
  expect(['', 'ACTIVO;', '\u0000', 'x'.repeat(61)].map(status)).toEqual([false, false, false, false]);
  expect(newList.safeParse({ nombre: 'a\0b' }).error?.issues).toMatchObject([
    { message: 'no admite el carácter nulo' },
  ]);
});
