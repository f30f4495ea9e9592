import { createHmac } from 'node:crypto';
import { expect, test } from 'vitest';
import { diagnose, type Finding, type Question, readHeaders } from '../../../../api/pages/console/watch/diagnose.ts';
import { deliveryHeaders } from '../../../../workflows/delivery/signature.ts';

const secret = `whsec_${Buffer.alloc(32, 1).toString('base64')}`;
const other = `whsec_${Buffer.alloc(32, 2).toString('base64')}`;
const id = 'en_261126_abcdefghijklmnopqrstuv';
const seconds = 1_795_000_000;
const body =
  '{"id":"ev_1","evento":"ruc.nombre_cambiado","datos":{"antes":"PEÑA & HIJOS","despues":null},"posicion":1}';

const sent = deliveryHeaders({ id, event: 'ruc.nombre_cambiado', payload: body }, [secret], seconds, '1');
const lines = (headers: Record<string, string>) =>
  Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}`)
    .join('\n');
const known = { body, attempts: [seconds] };

function ask(changed: Partial<Question>): Finding[] {
  return diagnose({
    headers: lines(sent),
    body,
    secret,
    computed: null,
    known,
    nowSeconds: seconds + 10,
    ...changed,
  });
}

/** The parts that are not as they should be. */
const wrong = (findings: readonly Finding[]) =>
  findings.filter(({ state }) => state !== 'good').map(({ part, state }) => `${part} ${state}`);
const textOf = (findings: readonly Finding[], part: Finding['part']) =>
  findings
    .filter((finding) => finding.part === part)
    .map(({ text }) => text)
    .join(' ');

test('a delivery as it was sent has nothing wrong, whether it is known or not', () => {
  for (const each of [known, undefined]) expect(wrong(ask({ known: each }))).toEqual([]);
  expect(wrong(ask({ known: null }))).toEqual(['id warn']);
});

test('during a rotation either secret is right', () => {
  const both = deliveryHeaders({ id, event: 'x', payload: body }, [other, secret], seconds, '1');
  for (const each of [secret, other]) expect(wrong(ask({ headers: lines(both), secret: each }))).toEqual([]);
});

const changes: [string, string, RegExp][] = [
  ['parsed and written again with spaces', JSON.stringify(JSON.parse(body), null, 2), /volvió a escribir/],
  [
    'with its keys in another order',
    JSON.stringify(Object.fromEntries(Object.entries(JSON.parse(body)).reverse())),
    /volvió a escribir/,
  ],
  ['with escapes for letters', body.replace('Ñ', '\\u00d1'), /volvió a escribir/],
  ['with a line end', `${body}\n`, /salto de línea/],
  ['with a mark of the order of bytes', `\uFEFF${body}`, /BOM/],
  ['read as Latin-1', Buffer.from(body).toString('latin1'), /otra codificación/],
  ['as JSON in a text', JSON.stringify(body), /dos veces/],
  ['as a form', `payload=${encodeURIComponent(body)}`, /codificado/],
  ['with signs of HTML', body.replaceAll('&', '&amp;').replaceAll('"', '&quot;'), /HTML/],
];
test.each(changes)('a body %s is recognised, also when the delivery is not known', (_, changed, text) => {
  const found = ask({ body: changed });
  expect(wrong(found)).toEqual(['cuerpo bad']);
  expect(textOf(found, 'cuerpo')).toMatch(text);
});

test.each([
  ['parsed and written again', JSON.stringify(JSON.parse(body), null, 2)],
  ['with a line end', `${body}\r\n`],
  ['as JSON in a text', JSON.stringify(body)],
])('a body %s is recognised without knowing the delivery', (_, changed) => {
  expect(wrong(ask({ body: changed, known: undefined }))).toEqual(['cuerpo bad']);
});

test.each([
  ['', /vacío/],
  ['[object Object]', /objeto/],
  ["{'id': 'ev_1'}", /objeto/],
  [body.slice(0, 40), /cortado/],
  ['{"id":"ev_2"}', /otra entrega/],
])('the body %j is explained by the one that was sent', (changed, text) => {
  const found = ask({ body: changed });
  expect(wrong(found)).toEqual(['cuerpo bad']);
  expect(textOf(found, 'cuerpo')).toMatch(text);
});

test('another secret is found by the delivery, and without it the signature is only not of these', () => {
  expect(wrong(ask({ secret: other }))).toEqual(['secreto bad']);
  expect(textOf(ask({ secret: other }), 'cuerpo')).toBe('Es el que enviamos.');
  expect(wrong(ask({ secret: other, known: undefined }))).toEqual(['firma bad']);
  expect(wrong(ask({ secret: other, body: '{}' }))).toEqual(['secreto bad', 'cuerpo bad']);
});

test.each([
  ['', /Falta/],
  [`${secret}\n`, /espacios/],
  [`"${secret}"`, /comillas/],
  [secret.slice(6), /whsec_ al principio/],
  ['pad_live_0123', /token/],
  [secret.slice(0, 20), /cortado/],
])('the secret %j has not the form of one', (given, text) => {
  const found = ask({ secret: given });
  expect(wrong(found)).toEqual(['secreto bad']);
  expect(textOf(found, 'secreto')).toMatch(text);
});

const without = (name: string) =>
  lines(Object.fromEntries(Object.entries(sent).filter(([each]) => !each.endsWith(name))));

test('a missing header is named', () => {
  const noId = lines(Object.fromEntries(Object.entries(sent).filter(([each]) => !/delivery|webhook-id/.test(each))));
  expect(wrong(ask({ headers: noId }))).toEqual(['id bad']);
  expect(wrong(ask({ headers: without('timestamp') }))).toEqual(['momento bad']);
  expect(wrong(ask({ headers: without('signature') }))).toEqual(['firma bad']);
  expect(wrong(ask({ headers: '' }))).toEqual(['id bad', 'momento bad', 'firma bad']);
});

const timed = (time: string | number) => ({
  headers: lines({ ...sent, 'x-service-timestamp': String(time) }),
});
test.each([
  [timed(seconds * 1_000), /milisegundos/],
  [timed('2026-11-26T15:00:00Z'), /segundos desde 1970/],
  [timed(seconds + 90), /Ningún intento/],
  [{ ...timed(seconds + 3_600), known: undefined }, /futuro/],
])('a time that is not the one of the header is found %#', (changed, text) => {
  expect(textOf(ask(changed), 'momento')).toMatch(text);
});

test('an old time is normal when somebody looks later', () => {
  expect(wrong(ask({ nowSeconds: seconds + 86_400 }))).toEqual(['momento warn']);
});

test.each([
  [Buffer.from(sent['x-service-signature']!.slice(3), 'base64').toString('hex'), /hexadecimal/],
  [sent['x-service-signature']!.slice(3), /v1,/],
  [sent['x-service-signature']!.slice(0, 30), /cortado/],
])('a signature of another form is named', (signature, text) => {
  const headers = lines({ ...sent, 'x-service-signature': signature });
  expect(textOf(ask({ headers }), 'firma')).toMatch(text);
});

const key = Buffer.alloc(32, 1);
const made = (by: Buffer | string, content: string) => createHmac('sha256', by).update(content).digest();
const right = `${id}.${seconds}.${body}`;
test.each([
  ['as it should be', made(key, right).toString('base64'), /como debe/],
  ['with its version', `v1,${made(key, right).toString('base64')}`, /como debe/],
  ['in hexadecimal', made(key, right).toString('hex'), /hexadecimal/],
  [
    'as base64 of the hexadecimal text',
    Buffer.from(made(key, right).toString('hex')).toString('base64'),
    /texto hexadecimal/,
  ],
  [
    'as base64 for addresses',
    made(Buffer.alloc(32, 1), `${id}.${seconds}.${body}`).toString('base64url'),
    /direcciones/,
  ],
  ['over the body alone', made(key, body).toString('base64'), /solo el cuerpo/],
  ['without the id', made(key, `${seconds}.${body}`).toString('base64'), /sin el id/],
  ['with the whole secret as the key', made(secret, right).toString('base64'), /secreto entero/],
  ['with the base64 text as the key', made(secret.slice(6), right).toString('base64'), /después de whsec_/],
  ['with two mistakes', made(secret, body).toString('hex'), /solo el cuerpo.*secreto entero.*hexadecimal/],
  ['in an unknown way', 'abc', /No se reconoce/],
])('a signature that the receiver made %s is explained', (_, computed, text) => {
  expect(textOf(ask({ computed }), 'cálculo')).toMatch(text);
});

test.each([
  ['X-Service-Delivery: en_1', 'x-service-delivery', 'en_1'],
  ['  "x-service-delivery": "en_1",', 'x-service-delivery', 'en_1'],
  ["-H 'X-Service-Delivery: en_1' \\", 'x-service-delivery', 'en_1'],
  ["'HTTP_X_SERVICE_DELIVERY' => 'en_1',", 'x-service-delivery', 'en_1'],
  ['[HTTP_X_SERVICE_DELIVERY] => en_1', 'x-service-delivery', 'en_1'],
  ['webhook-signature: v1,abc= v1,def=', 'webhook-signature', 'v1,abc= v1,def='],
])('a header is read from %j', (line, name, value) => {
  expect(readHeaders(line)).toEqual([{ name, value }]);
});
