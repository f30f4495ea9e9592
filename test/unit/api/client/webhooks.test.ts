import { Webhook } from 'standardwebhooks';
import { expect, test } from 'vitest';
import { verifyNotice, type WebhookError } from '../../../../api/client/webhooks.ts';
import { deliveryHeaders } from '../../../../workflows/delivery/signature.ts';

const secret = `whsec_${Buffer.alloc(32, 1).toString('base64')}`;
const older = `whsec_${Buffer.alloc(32, 2).toString('base64')}`;
const body = '{"id":"ev_1","evento":"ruc.estado_cambiado"}';
const now = new Date('2026-11-26T15:00:00Z');
const seconds = now.getTime() / 1_000;

const headersOf = (secrets: readonly string[] = [secret], timestampSeconds = seconds) =>
  deliveryHeaders({ secrets, deliveryId: 'dl_1', event: 'ruc.estado_cambiado', timestampSeconds, body, version: '1' });

const without = (headers: Record<string, string>, prefix: string) =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !name.startsWith(prefix)));

test('what the service signs is read, under either family of headers, in any case, from a Headers object', () => {
  const notice = { deliveryId: 'dl_1', payload: { id: 'ev_1', evento: 'ruc.estado_cambiado' } };
  const headers = headersOf();
  expect(verifyNotice(body, headers, secret, { now })).toEqual(notice);
  expect(verifyNotice(Buffer.from(body), without(headers, 'webhook-'), secret, { now })).toEqual(notice);
  expect(verifyNotice(body, new Headers(without(headers, 'x-service-')), secret, { now })).toEqual(notice);
  const shouted = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toUpperCase(), value]));
  expect(verifyNotice(body, shouted, secret, { now })).toEqual(notice);
});

test('during a rotation either secret verifies', () => {
  const headers = headersOf([secret, older]);
  for (const each of [secret, older]) expect(verifyNotice(body, headers, each, { now }).deliveryId).toBe('dl_1');
});

test('what the public library signs is accepted: one format', () => {
  const signature = new Webhook(secret).sign('dl_1', now, body);
  const headers = { 'webhook-id': 'dl_1', 'webhook-timestamp': String(seconds), 'webhook-signature': signature };
  expect(verifyNotice(body, headers, secret, { now }).payload.id).toBe('ev_1');
});

const refused: [string, WebhookError['code'], () => unknown][] = [
  ['another body', 'signature_wrong', () => verifyNotice(`${body} `, headersOf(), secret, { now })],
  ['another secret', 'signature_wrong', () => verifyNotice(body, headersOf([older]), secret, { now })],
  [
    'another scheme',
    'signature_wrong',
    () => verifyNotice(body, { ...headersOf(), 'x-service-signature': 'v1a,AAAA' }, secret, { now }),
  ],
  [
    'a cut signature',
    'signature_wrong',
    () => verifyNotice(body, { ...headersOf(), 'x-service-signature': 'v1,AAAA' }, secret, { now }),
  ],
  [
    'another delivery',
    'signature_wrong',
    () => verifyNotice(body, { ...headersOf(), 'x-service-delivery': 'dl_2' }, secret, { now }),
  ],
  [
    'too old',
    'timestamp_outside_tolerance',
    () => verifyNotice(body, headersOf([secret], seconds - 301), secret, { now }),
  ],
  [
    'from the future',
    'timestamp_outside_tolerance',
    () => verifyNotice(body, headersOf([secret], seconds + 301), secret, { now }),
  ],
  [
    'no number',
    'timestamp_outside_tolerance',
    () => verifyNotice(body, { ...headersOf(), 'x-service-timestamp': 'NaN' }, secret, { now }),
  ],
  ['no header', 'header_missing', () => verifyNotice(body, {}, secret, { now })],
  ['no secret', 'secret_malformed', () => verifyNotice(body, headersOf(), 'whsec_', { now })],
];
test.each(refused)('refused: %s', (_, code, verify) => {
  expect(verify).toThrow(expect.objectContaining({ name: 'WebhookError', code }));
});
