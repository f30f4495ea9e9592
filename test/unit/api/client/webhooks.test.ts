import { Webhook } from 'standardwebhooks';
import { describe, expect, test } from 'vitest';
import { type NoticePayload, verifyNotice, type WebhookError } from '../../../../api/client/webhooks.ts';
import type { Change } from '../../../../pipelines/changes/record.ts';
import { eventsOf, payloadOf } from '../../../../pipelines/watch/match.ts';
import { eventPayload } from '../../../../schemas/http/events.ts';
import { eventKinds, registers } from '../../../../schemas/registers.ts';
import { deliveryHeaders } from '../../../../workflows/delivery/signature.ts';

const secret = `whsec_${Buffer.alloc(32, 1).toString('base64')}`;
const older = `whsec_${Buffer.alloc(32, 2).toString('base64')}`;
const body = '{"id":"ev_1","evento":"ruc.estado_cambiado"}';
const now = new Date('2026-11-26T15:00:00Z');
const seconds = now.getTime() / 1_000;

const headersOf = (secrets: readonly string[] = [secret], timestampSeconds = seconds) =>
  deliveryHeaders({ id: 'dl_1', event: 'ruc.estado_cambiado', payload: body }, secrets, timestampSeconds, '1');

const without = (headers: Record<string, string>, prefix: string) =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !name.startsWith(prefix)));

test('a signed delivery is read with either family of headers, in any case, and from a Headers object', () => {
  const notice = { deliveryId: 'dl_1', payload: { id: 'ev_1', evento: 'ruc.estado_cambiado' } };
  const headers = headersOf();
  expect(verifyNotice(body, headers, secret, { now })).toEqual(notice);
  expect(verifyNotice(Buffer.from(body), without(headers, 'webhook-'), secret, { now })).toEqual(notice);
  expect(verifyNotice(body, new Headers(without(headers, 'x-service-')), secret, { now })).toEqual(notice);
  const shouted = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toUpperCase(), value]));
  expect(verifyNotice(body, shouted, secret, { now })).toEqual(notice);
});

test('a header whose value is a list of one is read, also beside other classes of headers', () => {
  const headers = headersOf();
  const listed = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value]]));
  expect(verifyNotice(body, listed, secret, { now }).deliveryId).toBe('dl_1');
  const lists = new Map(Object.entries(listed).map(([name, value]) => [name.toLowerCase(), value[0]!]));
  expect(verifyNotice(body, { get: (name: string) => lists.get(name) ?? null }, secret, { now }).deliveryId).toBe(
    'dl_1',
  );
});

test('the body may be the bytes of an ArrayBuffer', () => {
  const bytes = new TextEncoder().encode(body);
  expect(verifyNotice(bytes.buffer, headersOf(), secret, { now }).payload.id).toBe('ev_1');
});

test.each([
  ['a parsed object', JSON.parse(body)],
  ['a parsed list', [1]],
  ['the JSON of a Buffer', Buffer.from(body).toJSON()],
  ['nothing, as without a body parser', undefined],
  ['null', null],
])('%s as body is refused with what to do instead', (_, parsed) => {
  expect(() => verifyNotice(parsed as string, headersOf(), secret, { now })).toThrow(
    expect.objectContaining({
      code: 'body_malformed',
      message: expect.stringMatching(/^pass the raw body, before JSON\.parse/),
    }),
  );
});

test('during a rotation either secret verifies', () => {
  const headers = headersOf([secret, older]);
  for (const each of [secret, older]) expect(verifyNotice(body, headers, each, { now }).deliveryId).toBe('dl_1');
});

test('a signature of the public library is accepted, so the format is the same', () => {
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
  [
    'an empty list',
    'header_missing',
    () => verifyNotice(body, { ...without(headersOf(), 'webhook-'), 'x-service-delivery': [] }, secret, { now }),
  ],
  [
    'a header that is given twice',
    'header_repeated',
    () => verifyNotice(body, { ...headersOf(), 'x-service-delivery': ['dl_1', 'dl_2'] }, secret, { now }),
  ],
  ['no secret', 'secret_malformed', () => verifyNotice(body, headersOf(), 'whsec_', { now })],
];
test.each(refused)('refused: %s', (_, code, verify) => {
  expect(verify).toThrow(expect.objectContaining({ name: 'WebhookError', code }));
});

/** Compiles only if each kind has the types of its values and no kind is missing. */
function summaryOf(payload: NoticePayload): string {
  switch (payload.evento) {
    case 'ping':
      return `ping ${payload.datos}`;
    case 'ruc.alta':
    case 'ruc.baja': {
      const ruc: string = payload.datos.antes ?? payload.datos.despues ?? '';
      return `${payload.datos.campo} ${ruc} ${payload.watchlist.nombre}`;
    }
    case 'ruc.agente_retencion_cambiado':
    case 'ruc.buen_contribuyente_cambiado': {
      const isListed: boolean = payload.datos.despues;
      return `${payload.datos.campo} ${isListed}`;
    }
    case 'ruc.estado_cambiado':
    case 'ruc.condicion_cambiada':
    case 'ruc.nombre_cambiado': {
      const text: string | null = payload.datos.despues;
      return `${payload.datos.campo} ${text}`;
    }
    default:
      return payload satisfies never;
  }
}

describe('the eight kinds', () => {
  const ruc = '20990000019';
  const row = (nombre: string, estado: string, condicion: string) => ({ nombre, estado, condicion });
  const [before, after] = [row('ACME S.A.', 'ACTIVO', 'HABIDO'), row('ACME S.A.C.', 'BAJA DE OFICIO', 'NO HABIDO')];
  const listed = { nombre: 'ACME S.A.C.', desde: '2023-10-01', resolucion: 'R.S. 1' };
  const base = { edition: 2, seq: 0, ruc, line: null, detectedAt: now, corrects: null };
  const of = (register: keyof typeof registers, change: Pick<Change, 'op' | 'before' | 'after'>) =>
    eventsOf(registers[register], { ...base, ...change }, null);
  const fields = [
    ...of('padron_reducido', { op: 'c', before: null, after }),
    ...of('padron_reducido', { op: 'u', before, after }),
    ...of('padron_reducido', { op: 'd', before, after: null }),
    ...of('agentes_retencion', { op: 'c', before: null, after: listed }),
    ...of('buenos_contribuyentes', { op: 'd', before: listed, after: null }),
  ];
  const bodies = fields.map((field, index) =>
    payloadOf(
      {
        ...{ id: `ev_${index}`, register: 'padron_reducido', edition: 2, ruc, field, fechaDato: '2026-11-26' },
        ...{ ocurridoEn: now, list: { id: 7, nombre: 'Proveedores', referencia: null }, correccion: null },
      },
      index + 1,
    ),
  );
  const sent = (text: string) => {
    const { evento } = JSON.parse(text) as NoticePayload;
    const headers = deliveryHeaders({ id: 'en_1', event: evento, payload: text }, [secret], seconds, '1');
    return verifyNotice(text, headers, secret, { now }).payload;
  };

  test('every payload that the service writes has the type of its kind', () => {
    for (const body of bodies) eventPayload.parse(JSON.parse(body));
    expect(new Set(fields.map(({ evento }) => evento))).toEqual(new Set(eventKinds));
    expect(bodies.map((body) => summaryOf(sent(body)))).toEqual([
      `ruc ${ruc} Proveedores`,
      'estado BAJA DE OFICIO',
      'condicion NO HABIDO',
      'nombre ACME S.A.C.',
      `ruc ${ruc} Proveedores`,
      'es_agente_retencion true',
      'es_buen_contribuyente false',
    ]);
  });

  test('the test that an owner requests has its type too', () => {
    const ping = { id: 'ev_p', evento: 'ping', ocurrido_en: '2026-11-26T10:00:00-05:00', datos: null, watchlist: null };
    expect(summaryOf(sent(JSON.stringify(ping)))).toBe('ping null');
  });
});
