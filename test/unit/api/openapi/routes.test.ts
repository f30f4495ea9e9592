import { expect, test } from 'vitest';
import { makeApiRouter } from '../../../../api/app.ts';
import type { ApiDependencies } from '../../../../api/dependencies.ts';
import { makeDocument, problemsOf } from '../../../../api/openapi/document.ts';
import { readExamples } from '../../../../api/openapi/texts.ts';
import { type Operation, operations } from '../../../../api/operations.ts';
import { otherMethods } from '../../../../api/router.ts';
import { type ProblemCode, problems } from '../../../../schemas/http/problem.ts';
import { problemsOfNoOperation } from '../../../support/api/problems.ts';

const all = Object.entries<Operation>(operations);
// Handlers use their dependencies when they are called, so mounting them needs none.
const router = makeApiRouter({ baseUrl: '' } as ApiDependencies);

test('every operation of the table is mounted below /id/v1 with its methods, and nothing else is', () => {
  const served = router.stack
    .filter(({ path, name }) => String(path).startsWith('/id/') && name !== otherMethods)
    .flatMap(({ path, methods }) => methods.map((method) => `${method} ${String(path).replace(/:(\w+)/g, '{$1}')}`));
  const described = all.flatMap(([, { method, path, isGetOnly }]) => [
    `${method.toUpperCase()} ${path}`,
    ...(method === 'get' && isGetOnly !== true ? [`HEAD ${path}`] : []),
  ]);
  expect(described.sort()).toEqual(served.sort());
});

test('a fixed path comes before a path with a parameter that fits it too', () => {
  const paths = router.stack.map(({ path }) => String(path));
  for (const [fixed, open] of [
    ['/id/v1/ruc/buscar', '/id/v1/ruc/:ruc'],
    ['/id/v1/ruc/batch', '/id/v1/ruc/:ruc'],
    ['/id/v1/calendario/plazo', '/id/v1/calendario/:fecha'],
    ['/id/v1/vencimientos/proximos', '/id/v1/vencimientos/:anio'],
  ] as const)
    expect(paths.indexOf(fixed), fixed).toBeLessThan(paths.indexOf(open));
});

test('every code belongs to an operation, or is answered before the operation is known', () => {
  const said = new Set<ProblemCode>(all.flatMap(([, operation]) => [...problemsOf(operation)]));
  expect(Object.keys(problems).sort()).toEqual([...said, ...problemsOfNoOperation].sort());
});

test('path parameters are those of the path, and every parameter has a description', () => {
  const { paths } = makeDocument('', {});
  for (const [path, item] of Object.entries(paths ?? {}))
    for (const { parameters = [] } of [item.get, item.post, item.patch, item.delete].flatMap((each) => each ?? [])) {
      const named = [...path.matchAll(/\{(\w+)\}/g)].map(([, parameter]) => parameter);
      const inPath = parameters.flatMap((each) => ('in' in each && each.in === 'path' ? [each.name] : []));
      expect(inPath.sort(), path).toEqual(named.sort());
      for (const parameter of parameters) expect(parameter, path).toHaveProperty('description');
    }
});

/** The greatest length that the document states for each list in a request's body, by operation and field. */
function documentedListLimits(): string[] {
  const { paths = {}, components } = makeDocument('', {});
  const found: string[] = [];
  const walk = (name: string, schema: unknown, field = '') => {
    if (schema === null || typeof schema !== 'object') return;
    const { $ref: ref, type, maxItems } = schema as { $ref?: string; type?: unknown; maxItems?: number };
    if (ref !== undefined) walk(name, components?.schemas?.[ref.split('/').at(-1)!], field);
    if ([type].flat().includes('array') && maxItems !== undefined) found.push(`${name} ${field} ${maxItems}`);
    for (const [key, value] of Object.entries(schema)) {
      if (key === 'properties') for (const [each, inner] of Object.entries(value as object)) walk(name, inner, each);
      else walk(name, value, field);
    }
  };
  for (const { post, patch } of Object.values(paths))
    for (const operation of [post, patch]) if (operation) walk(operation.operationId!, operation.requestBody);
  return [...new Set(found)].sort();
}

test('every limit on a list of a request is documented, and gives limite_excedido', () => {
  const limits = all.flatMap(([name, { listLimits = {} }]) =>
    Object.entries(listLimits).map(([field, most]) => `${name} ${field} ${most}`),
  );
  expect(documentedListLimits()).toEqual(limits.sort());
  expect(limits).toEqual([
    'agregarRucs rucs 1000',
    'cambiarWebhook listas 1000',
    'consultarLote rucs 100',
    'crearWebhook listas 1000',
  ]);
  for (const [name, operation] of all)
    if (operation.listLimits !== undefined) expect(problemsOf(operation), name).toContain('limite_excedido');
});

test('the document states the default size of a page', () => {
  const paged = Object.values(makeDocument('', {}).paths ?? {})
    .flatMap(({ get }) => get?.parameters ?? [])
    .filter((parameter) => 'name' in parameter && parameter.name === 'limite');
  expect(paged.length).toBeGreaterThanOrEqual(7);
  for (const parameter of paged)
    expect(parameter).toMatchObject({ schema: { type: 'integer', default: expect.any(Number) } });
});

test('schemas of answers are named once and allow fields that v1 may gain', () => {
  const text = JSON.stringify(makeDocument('', {}));
  expect(text).toContain('"$ref":"#/components/schemas/Contribuyente"');
  const { components } = makeDocument('', {});
  expect(components?.schemas?.Contribuyente).not.toHaveProperty('additionalProperties');
});

test('the server of the document is the address at which callers reach the API', () => {
  expect(makeDocument('https://api.example.pe', {}).servers).toEqual([{ url: 'https://api.example.pe' }]);
  expect(makeDocument('', {}).servers).toEqual([{ url: '/' }]);
});

test('the example of every JSON answer fits its schema', () => {
  const examples = readExamples();
  for (const [name, { answer }] of all) answer?.parse(examples[name]?.answer);
});
