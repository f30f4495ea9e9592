import { createHmac } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { revokeToken } from '../../../api/accounts/tokens.ts';
import { taxpayerAnswer } from '../../../schemas/http/taxpayer.ts';
import { checkDigit } from '../../../schemas/ruc.ts';
import { apiSecrets, expectProblem, makeCaller, requestsOf, type TestCaller } from '../../support/api/process.ts';
import { type Surroundings, startSurroundings } from '../../support/api/surroundings.ts';
import { insertEdition, insertTaxpayers, untilCatalogueIsRead } from '../../support/registers/served-register.ts';

const company = '20990000019';
const personName = 'ÑAHUIS QUISPE ÁNGEL PLANTADO';
const person = '10990000013';
const contract = { reference: 'CTD-1', from: '2020-01-01', until: null };

const lines = [
  `${company}|COMERCIAL PRUEBA UNO S.A.C.|ACTIVO|HABIDO|150122|AV.|EJEMPLO DEL NORTE|URB.|LAS PRUEBAS II ETAPA|055|1603|-|-|-|-|`,
  `${person}|${personName}|ACTIVO|HABIDO|-|-|-|-|-|-|-|-|-|-|-|`,
  '20990000035|SERVICIOS FICTICIOS DEL SUR SOCIEDAD ANONIMA     "FICTISUR S.A."|SUSPENSION TEMPORAL|NO HALLADO SE MUDO D|040101|----|CARR. PRUEBA|-|-|KM 7|-|-|-|-|38.2|',
];

let around: Surroundings;
let caller: TestCaller;
let withContract: TestCaller;

beforeAll(async () => {
  around = await startSurroundings({ REQUIRED_REGISTERS: 'padron_reducido' });
  caller = await makeCaller(around.pool, around.api.url, { plan: 'free' });
  withContract = await makeCaller(around.pool, around.api.url, { plan: 'free', contract });
});
afterAll(() => around.stop());

describe('before the first edition', () => {
  test('a look-up gives 503 and never 404, and the process is not ready', async () => {
    await expectProblem(await caller.request(`/id/v1/ruc/${company}`), 'padron_no_disponible');
    const ready = await fetch(`${around.api.healthUrl}/readyz`);
    expect(ready.status).toBe(503);
    expect(await ready.json()).toMatchObject({ reason: expect.stringContaining('padron_reducido') });
    expect((await fetch(`${around.api.url}/healthz`)).status).toBe(200);
  });

  test.each(['/readyz', '/metrics'])('%s is no route of the public port', async (path) => {
    await expectProblem(await fetch(`${around.api.url}${path}`), 'ruta_no_encontrada');
  });

  test('an edition whose rows the store lost gives 503 and never 404', async () => {
    await insertEdition(around.pool, { number: 1, fechaDato: '2026-11-25' });
    await untilCatalogueIsRead();
    await expectProblem(await caller.request(`/id/v1/ruc/${company}`), 'servicio_no_disponible');
  });
});

describe('with an edition', () => {
  beforeAll(async () => {
    await insertTaxpayers(
      around.clickhouse,
      lines.map((line) => ({ line })),
    );
    await insertTaxpayers(around.clickhouse, [
      { line: '20990000043|ACME PERÚ S.A.A.|ACTIVO|HABIDO|150131|CAL.|UNO|Z.I.|-.-|480|PIS6|12|901|B2|-|', version: 1 },
      {
        line: '20990000043|ACME PERÚ S.A.A.|BAJA MULT.INSCR. Y O|HABIDO|150131|CAL.|UNO|Z.I.|-.-|480|PIS6|12|901|B2|-|',
        version: 2,
      },
      { line: '20990000060|MUNICIPALIDAD DE PRUEBA  ALTA|ACTIVO|HABIDO|250307|-|-|-|-|-|-|-|-|-|-|', version: 1 },
      {
        line: '20990000060|MUNICIPALIDAD DE PRUEBA  ALTA|ACTIVO|HABIDO|250307|-|-|-|-|-|-|-|-|-|-|',
        version: 2,
        isDeleted: true,
      },
    ]);
    await insertEdition(around.pool, { number: 2, fechaDato: '2026-11-26', sha256: 'ef'.repeat(32) });
    await untilCatalogueIsRead();
  });

  test('a company: all fields in their order, the date and the source of the data', async () => {
    const response = await caller.request(`/id/v1/ruc/${company}`);
    expect(response.status).toBe(200);
    const text = await response.text();
    const { data, meta } = taxpayerAnswer.parse(JSON.parse(text));
    expect(Object.entries(data)).toEqual([
      ['ruc', company],
      ['tipo', '20'],
      ['nombre', 'COMERCIAL PRUEBA UNO S.A.C.'],
      ['estado', 'ACTIVO'],
      ['condicion', 'HABIDO'],
      ['ubigeo', '150122'],
      ['departamento', 'LIMA'],
      ['provincia', 'LIMA'],
      ['distrito', 'MIRAFLORES'],
      ['tipo_contribuyente', null],
      ['sistema_emision', null],
      ['actividad_economica', null],
      ['comercio_exterior', null],
      ['nro_trabajadores', null],
      ['direccion', 'AV. EJEMPLO DEL NORTE NRO. 055 INT. 1603 URB. LAS PRUEBAS II ETAPA'],
      ['es_agente_retencion', null],
      ['es_buen_contribuyente', null],
    ]);
    expect(meta).toEqual({
      origen: 'SUNAT - Padrón reducido del RUC',
      fecha_dato: '2026-11-26',
      fecha_padrones: { agentes_retencion: null, buenos_contribuyentes: null },
      fuentes: [
        {
          registro: 'padron_reducido',
          fecha_dato: '2026-11-26',
          publicado_en: '2026-11-26T02:38:00-05:00',
          cargado_en: '2026-11-26T04:00:00-05:00',
          sha256: 'ef'.repeat(32),
        },
      ],
    });
    expect(text.startsWith('{"success":true,"data":{"ruc":')).toBe(true);
  });

  test('cut and unaccented texts are restored; quotes and spaces of a name stay', async () => {
    const { data } = taxpayerAnswer.parse(await (await caller.request('/id/v1/ruc/20990000035')).json());
    expect(data.estado).toBe('SUSPENSIÓN TEMPORAL');
    expect(data.condicion).toBe('NO HALLADO SE MUDÓ DE DOMICILIO');
    expect(data.nombre).toBe('SERVICIOS FICTICIOS DEL SUR SOCIEDAD ANONIMA     "FICTISUR S.A."');
    expect(data.direccion).toBe('CARR. PRUEBA NRO. KM 7 KM. 38.2');
  });

  test('the newest version of a row is served; one that disappeared is not found', async () => {
    const { data } = taxpayerAnswer.parse(await (await caller.request('/id/v1/ruc/20990000043')).json());
    expect(data.estado).toBe('BAJA MULT.INSCR. Y OTROS');
    await expectProblem(await caller.request('/id/v1/ruc/20990000060'), 'ruc_no_encontrado');
  });

  test('an unknown RUC gives 404 with the date of the edition', async () => {
    const problem = await expectProblem(await caller.request('/id/v1/ruc/20131312955'), 'ruc_no_encontrado');
    expect(problem).toMatchObject({
      encontrado: false,
      success: false,
      detail: 'El RUC 20131312955 no figura en la edición del 2026-11-26.',
      instance: '/id/v1/ruc/20131312955',
      meta: { origen: 'SUNAT - Padrón reducido del RUC', fecha_dato: '2026-11-26' },
    });
  });

  test('a row of an edition that is still being written is dated by that edition, whether changed or deleted', async () => {
    const line = '20990000078|RECIÉN CAMBIADA S.A.|ACTIVO|HABIDO|150131|-|-|-|-|-|-|-|-|-|-|';
    await insertEdition(around.pool, { number: 3, fechaDato: '2026-11-27', materialisedAt: null });
    await insertTaxpayers(around.clickhouse, [
      { line, version: 3 },
      { line: line.replace('20990000078', '20990000086'), version: 3, isDeleted: true },
    ]);
    const found = taxpayerAnswer.parse(await (await caller.request('/id/v1/ruc/20990000078')).json());
    expect(found.meta).toMatchObject({ fecha_dato: '2026-11-27', fuentes: [{ cargado_en: null }] });
    const gone = await caller.request('/id/v1/ruc/20990000086');
    expect(await gone.json()).toMatchObject({ code: 'ruc_no_encontrado', meta: { fecha_dato: '2026-11-27' } });
    const other = taxpayerAnswer.parse(await (await caller.request(`/id/v1/ruc/${company}`)).json());
    expect(other.meta.fecha_dato).toBe('2026-11-26');
  });

  test('ETag: 304 for a current one, also weak or in a list; HEAD gives the same headers without a body', async () => {
    const first = await caller.request(`/id/v1/ruc/${company}`);
    const etag = first.headers.get('etag')!;
    expect(etag).toMatch(/^W\/"2-/);
    expect(first.headers.get('cache-control')).toBe('private, no-cache');
    expect(first.headers.get('vary')).toBe('Authorization, Accept-Encoding');
    for (const given of [etag, etag.slice(2), `"other", ${etag}`, '*']) {
      const again = await caller.request(`/id/v1/ruc/${company}`, { headers: { 'if-none-match': given } });
      expect([given, again.status, again.headers.get('etag'), await again.text()]).toEqual([given, 304, etag, '']);
    }
    const other = await caller.request(`/id/v1/ruc/${company}`, { headers: { 'if-none-match': 'W/"2-other"' } });
    expect(other.status).toBe(200);
    const head = await caller.request(`/id/v1/ruc/${company}`, { method: 'HEAD' });
    expect([head.status, head.headers.get('etag'), await head.text()]).toEqual([200, etag, '']);
    expect(head.headers.get('content-length')).toBe(first.headers.get('content-length'));
  });

  test.each([
    ['2099000001', 'ruc_formato', /10 caracteres/],
    ['209900000191', 'ruc_formato', /12 caracteres/],
    ['123', 'ruc_formato', /3 caracteres/],
    ['2099000001X', 'ruc_formato', /solo de dígitos/],
    ['２０990000019', 'ruc_formato', /solo de dígitos/],
    ['30990000019', 'ruc_formato', /empieza con/],
    ['00000000123', 'ruc_formato', /empieza con/],
    ['20990000018', 'ruc_digito_verificador', /20990000018 no es correcto: debería ser 9/],
  ] as const)('%s is refused', async (ruc, code, detail) => {
    const problem = await expectProblem(await caller.request(`/id/v1/ruc/${encodeURIComponent(ruc)}`), code);
    expect(problem.detail).toMatch(detail);
    if (code === 'ruc_digito_verificador') expect(problem.encontrado).toBe(false);
  });

  test("a natural person's RUC with a wrong check digit is masked in the answer", async () => {
    const wrong = `1099000001${(checkDigit('1099000001') + 1) % 10}`;
    const text = await (await caller.request(`/id/v1/ruc/${wrong}`)).text();
    expect(JSON.parse(text).code).toBe('ruc_digito_verificador');
    expect(text).not.toContain('99000001');
    expect(JSON.parse(text).instance).toBe('/id/v1/ruc/10*******14');
  });

  test('a natural person without contract: 403 whether or not it exists, and the same words', async () => {
    const known = await expectProblem(await caller.request(`/id/v1/ruc/${person}`), 'contrato_requerido');
    const unknown = `1011111111${checkDigit('1011111111')}`;
    const other = await expectProblem(await caller.request(`/id/v1/ruc/${unknown}`), 'contrato_requerido');
    expect(known.detail).toBe(other.detail);
    expect(known.instance).toBe('/id/v1/ruc/10*******13');
    // An expired or future contract does not count.
    for (const days of [
      { from: '2020-01-01', until: '2020-12-31' },
      { from: '2099-01-01', until: null },
    ]) {
      const expired = await makeCaller(around.pool, around.api.url, { contract: { reference: 'CTD-2', ...days } });
      await expectProblem(await expired.request(`/id/v1/ruc/${person}`), 'contrato_requerido');
    }
  });

  test('a natural person under contract is served, not cached, and audited by a keyed hash', async () => {
    const response = await withContract.request(`/id/v1/ruc/${person}`);
    const { data, meta } = taxpayerAnswer.parse(await response.json());
    expect(data).toMatchObject({ nombre: personName, tipo: '10', ubigeo: null, direccion: null });
    expect(meta.direccion_motivo).toBe('no_publicada_persona_natural');
    expect(response.headers.get('cache-control')).toBe('no-store');
    expect(response.headers.get('etag')).toBeNull();
    expect(response.headers.get('last-modified')).toBeNull();

    const unknown = `1511111111${checkDigit('1511111111')}`;
    const missing = await expectProblem(await withContract.request(`/id/v1/ruc/${unknown}`), 'ruc_no_encontrado');
    expect(missing.detail).not.toContain('11111111');
    await withContract.request(`/id/v1/ruc/${person}`, { method: 'HEAD' });

    const { rows } = await around.pool.query(
      'SELECT account_id, contract_reference, ruc_hmac, route FROM natural_person_audit ORDER BY id',
    );
    const hash = (ruc: string) => createHmac('sha256', apiSecrets.AUDIT_HMAC_KEY).update(ruc).digest();
    expect(rows.map((row) => row.ruc_hmac)).toEqual([hash(person), hash(unknown), hash(person)]);
    expect(rows[0]).toMatchObject({ account_id: withContract.accountId, contract_reference: 'CTD-1' });
  });

  test('unknown parameters are refused and never ignored', async () => {
    const problem = await expectProblem(
      await caller.request(`/id/v1/ruc/${company}?fechaa=2026-01-01`),
      'parametro_desconocido',
    );
    expect(problem.errors).toEqual([{ campo: 'fechaa', mensaje: 'no se conoce' }]);
    expect(problem.instance).not.toContain('?');
  });

  test('other methods, other paths, broken escapes', async () => {
    const posted = await caller.request(`/id/v1/ruc/${company}`, { method: 'POST' });
    expect(posted.headers.get('allow')).toBe('GET, HEAD');
    await expectProblem(posted, 'metodo_no_permitido');
    await expectProblem(await caller.request('/id/v1/rucs'), 'ruta_no_encontrada');
    await expectProblem(await caller.request('/otra'), 'ruta_no_encontrada');
    await expectProblem(await caller.request('/id/v1/ruc/%E0%A4%A'), 'ruc_formato');
  });

  test("a caller's own request id is kept when it is printable", async () => {
    const own = await caller.request(`/id/v1/ruc/${company}`, { headers: { 'x-request-id': 'pedido 7' } });
    expect(own.headers.get('x-request-id')).toBe('pedido 7');
    const long = await caller.request(`/id/v1/ruc/${company}`, { headers: { 'x-request-id': 'x'.repeat(129) } });
    expect(long.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/);
  });

  test('tokens: none, bad, sandbox, another secret, revoked within 5 s', async () => {
    const path = `/id/v1/ruc/${company}`;
    const as = (token: string | null) => requestsOf(around.api.url, token)(path);
    await expectProblem(await as(null), 'sin_token');
    for (const bad of [
      'abc',
      'pad_live_x',
      `${caller.token}0`,
      caller.token.replace(/.$/, (c) => (c === '0' ? '1' : '0')),
    ])
      await expectProblem(await as(bad), 'token_invalido');
    await expectProblem(await as(`pad_live_${'0'.repeat(16)}_${'0'.repeat(48)}`), 'token_invalido');
    await expectProblem(await as('pad_sandbox_publico'), 'token_sandbox');
    // The token is checked first, whatever the RUC is.
    await expectProblem(await requestsOf(around.api.url, null)('/id/v1/ruc/1'), 'sin_token');

    const short = await makeCaller(around.pool, around.api.url);
    expect((await short.request(path)).status).toBe(200);
    await revokeToken(around.pool, short.token.split('_')[2]!);
    const revokedAt = Date.now();
    let response = await short.request(path);
    while (response.status === 200 && Date.now() - revokedAt < 6_000) {
      await sleep(100);
      response = await short.request(path);
    }
    expect(Date.now() - revokedAt).toBeLessThan(5_500);
    await expectProblem(response, 'token_revocado');
  });

  test('ClickHouse down: 503 with Retry-After, never 404; back again without a restart', async () => {
    await around.clickhouseLine.cut();
    for (const ruc of [company, '20131312955'])
      await expectProblem(await caller.request(`/id/v1/ruc/${ruc}`), 'servicio_no_disponible');
    expect((await fetch(`${around.api.healthUrl}/readyz`)).status).toBe(503);
    await around.clickhouseLine.mend();
    expect((await caller.request(`/id/v1/ruc/${company}`)).status).toBe(200);
    expect((await fetch(`${around.api.healthUrl}/readyz`)).status).toBe(200);
  });

  test('PostgreSQL down: companies are served from known state, natural persons and unknown tokens are not', async () => {
    await caller.request(`/id/v1/ruc/${company}`);
    await withContract.request(`/id/v1/ruc/${person}`);
    const late = await makeCaller(around.pool, around.api.url);
    await around.postgresLine.cut();
    await sleep(1_200);
    expect((await caller.request(`/id/v1/ruc/${company}`)).status).toBe(200);
    await expectProblem(await withContract.request(`/id/v1/ruc/${person}`), 'servicio_no_disponible');
    await expectProblem(await late.request(`/id/v1/ruc/${company}`), 'servicio_no_disponible');
    await around.postgresLine.mend();
    expect((await withContract.request(`/id/v1/ruc/${person}`)).status).toBe(200);
  });

  test('a hundred look-ups at once each get their own answer', async () => {
    const rucs = Array.from({ length: 400 }, (_, index) => [company, '20990000035', '20990000043'][index % 3]!);
    const answers = await Promise.all(
      rucs.map(async (ruc) => taxpayerAnswer.parse(await (await caller.request(`/id/v1/ruc/${ruc}`)).json()).data.ruc),
    );
    expect(answers).toEqual(rucs);
  });

  test("nothing of a natural person, no token and no query is in the process's output or metrics", async () => {
    const requestLines = () => around.api.output().split('"route":"/id/v1/ruc/{ruc}"').length;
    const before = requestLines();
    await withContract.request(`/id/v1/ruc/${person}?nombre=${encodeURIComponent(personName)}`, {
      headers: { 'x-request-id': person },
    });
    const metrics = await (await fetch(`${around.api.healthUrl}/metrics`)).text();
    expect(
      /^padron_api_request_seconds_count\{.*route="\/id\/v1\/ruc\/\{ruc\}",method="GET",status="200"/m.test(metrics),
    ).toBe(true);
    // Request lines are written in blocks, and come through a pipe.
    await expect.poll(requestLines).toBeGreaterThan(before);
    for (const text of [around.api.output(), metrics]) {
      for (const secret of ['PLANTADO', '1099000001', withContract.token.split('_')[3]!])
        expect([secret, text.includes(secret)]).toEqual([secret, false]);
    }
  });
});
