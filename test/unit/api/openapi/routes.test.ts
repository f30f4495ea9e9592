import { expect, test } from 'vitest';
import { type ApiParts, makeRouter } from '../../../../api/app.ts';
import { makeDocument, ofNoOperation, problemsOf } from '../../../../api/openapi/document.ts';
import type { Operation } from '../../../../api/openapi/operation.ts';
import { operations } from '../../../../api/openapi/routes.ts';
import { readExamples } from '../../../../api/openapi/texts.ts';
import { otherMethods } from '../../../../api/routes/batch.ts';
import { type ProblemCode, problems } from '../../../../schemas/http/problem.ts';

const all = Object.entries<Operation>(operations);

test('the table holds every route below /id/v1, with its methods, and no other', () => {
  // Routes take their parts when they are called, so here they need none.
  const router = makeRouter({ baseUrl: '' } as ApiParts);
  const served = router.stack
    .filter(({ path, name }) => String(path).startsWith('/id/') && name !== otherMethods)
    .flatMap(({ path, methods }) => methods.map((method) => `${method} ${String(path).replace(/:(\w+)/g, '{$1}')}`));
  const described = all.flatMap(([, { method, path, isGetOnly }]) => [
    `${method.toUpperCase()} ${path}`,
    ...(method === 'get' && isGetOnly !== true ? [`HEAD ${path}`] : []),
  ]);
  expect(described.sort()).toEqual(served.sort());
});

test('a fixed path stands before one with a parameter that fits it too', () => {
  const router = makeRouter({ baseUrl: '' } as ApiParts);
  const paths = router.stack.map(({ path }) => String(path));
  for (const [fixed, open] of [
    ['/id/v1/ruc/buscar', '/id/v1/ruc/:ruc'],
    ['/id/v1/ruc/batch', '/id/v1/ruc/:ruc'],
    ['/id/v1/calendario/plazo', '/id/v1/calendario/:fecha'],
    ['/id/v1/vencimientos/proximos', '/id/v1/vencimientos/:anio'],
  ] as const)
    expect(paths.indexOf(fixed), fixed).toBeLessThan(paths.indexOf(open));
});

test('every code belongs to an operation or is named as one that comes before any', () => {
  const said = new Set<ProblemCode>(all.flatMap(([, operation]) => [...problemsOf(operation)]));
  expect(Object.keys(problems).sort()).toEqual([...said, ...ofNoOperation].sort());
});

test('path parameters are those of the path, every query parameter says what it means', () => {
  for (const [name, { path, parameters }] of all) {
    const named = [...path.matchAll(/\{(\w+)\}/g)].map(([, parameter]) => parameter);
    expect(Object.keys(parameters?.shape ?? {}).sort(), name).toEqual(named.sort());
  }
  const { paths } = makeDocument('', {});
  for (const [path, item] of Object.entries(paths ?? {}))
    for (const parameter of item.get?.parameters ?? []) expect(parameter, path).toHaveProperty('description');
});

test('how many entries a page holds when nothing is said stands in the document', () => {
  const paged = Object.values(makeDocument('', {}).paths ?? {})
    .flatMap(({ get }) => get?.parameters ?? [])
    .filter((parameter) => 'name' in parameter && parameter.name === 'limite');
  expect(paged.length).toBeGreaterThanOrEqual(7);
  for (const parameter of paged)
    expect(parameter).toMatchObject({ schema: { type: 'integer', default: expect.any(Number) } });
});

test('schemas of answers are named once, and open to fields that v1 may gain', () => {
  const text = JSON.stringify(makeDocument('', {}));
  expect(text).toContain('"$ref":"#/components/schemas/Contribuyente"');
  const { components } = makeDocument('', {});
  expect(components?.schemas?.Contribuyente).not.toHaveProperty('additionalProperties');
});

test('the server is where callers reach the API', () => {
  expect(makeDocument('https://api.example.pe', {}).servers).toEqual([{ url: 'https://api.example.pe' }]);
  expect(makeDocument('', {}).servers).toEqual([{ url: '/' }]);
});

test('every JSON answer is shown by one that its schema allows', () => {
  const examples = readExamples();
  for (const [name, { schema }] of all) if (schema !== null) schema.parse(examples[name]?.answer);
});
