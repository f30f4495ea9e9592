import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { Script } from 'node:vm';
import { expect, test } from 'vitest';
import { readDocumentation } from '../../../../api/pages/docs/described.ts';
import { curlOf, exampleOf, javascriptOf, pythonOf, targetOf } from '../../../../api/pages/docs/samples.ts';
import { fieldsOf } from '../../../../api/pages/docs/schema-table.tsx';

const { operations, schemas } = readDocumentation('');
const origin = 'https://padron.example.pe';
const samplesIn = (make: typeof curlOf) => operations.map((operation) => make(operation, exampleOf(operation), origin));

test('every JavaScript sample can be parsed', () => {
  for (const sample of samplesIn(javascriptOf))
    expect(() => new Script(`(async () => {${sample}})`), sample).not.toThrow();
});

test('every Python sample can be parsed, and every curl line is one command of a shell', async () => {
  const parse = 'import ast, json, sys\nfor sample in json.load(sys.stdin): ast.parse(sample)';
  const python = promisify(execFile)('python3', ['-c', parse]);
  python.child.stdin?.end(JSON.stringify(samplesIn(pythonOf)));
  await python;
  for (const sample of samplesIn(curlOf)) {
    // The shell prints the words that curl would get.
    const words = sample.replace(/^curl/, "printf '%s\\n'");
    const { stdout } = await promisify(execFile)('sh', ['-c', `TOKEN=t; ${words}`]);
    expect(stdout).toContain('Authorization: Bearer t\n');
    expect(stdout.trimEnd().split('\n').at(-1)).toMatch(/^https:\/\/padron\.example\.pe\/id\/v1\//);
  }
});

test('a quote in a value ends no quote of the shell', async () => {
  const operation = operations.find(({ name }) => name === 'crearLista')!;
  const curl = curlOf(operation, { values: {}, body: `{"nombre": "D'Onofrio $(id) \`id\`"}` }, origin);
  const { stdout } = await promisify(execFile)('sh', ['-c', curl.replace(/^curl/, "printf '%s\\n'")]);
  expect(stdout).toContain(`{"nombre": "D'Onofrio $(id) \`id\`"}`);
});

test('every example has all that its path needs, and nothing in it can leave the path', () => {
  for (const operation of operations) expect(targetOf(operation, exampleOf(operation))).not.toMatch(/[{}<>]/);
  const look = operations.find(({ name }) => name === 'consultarRuc')!;
  expect(targetOf(look, { values: { ruc: '../../consola?a#b' }, body: null })).toBe(
    '/id/v1/ruc/..%2F..%2Fconsola%3Fa%23b',
  );
});

test('the fields of an answer are listed with those of objects and lists inside it', () => {
  const { answers } = operations.find(({ name }) => name === 'consultarRuc')!;
  const paths = fieldsOf(answers[0]!.schema!, schemas).map(({ path, type }) => `${path}: ${type}`);
  expect(paths).toContain('data.ruc: texto');
  expect(paths).toContain('data.nro_trabajadores: entero desde 0 o null');
  expect(paths).toContain('meta.fuentes: lista de objetos');
  expect(paths.some((line) => line.startsWith('meta.fuentes[].sha256: '))).toBe(true);
});
