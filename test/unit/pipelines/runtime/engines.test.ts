import { expect, it } from 'vitest';
import { askEngine, type EngineCheck } from '../../../../pipelines/runtime/engines/check.ts';
import { engineError, shownAddress } from '../../../../pipelines/runtime/engines/failure.ts';
import { engineFloors, isBelow } from '../../../../pipelines/runtime/engines/floors.ts';
import { EngineWatch } from '../../../../pipelines/runtime/engines/watch.ts';
import { passingOf } from '../../../../pipelines/runtime/passing-errors.ts';

const checkOf = (ask: EngineCheck['ask'], engine: EngineCheck['engine'] = 'ClickHouse'): EngineCheck => ({
  engine,
  address: 'https://ch:8443/padron',
  ask,
});
const failing = (error: object) => () => Promise.reject(Object.assign(new Error('no'), error));

it.each([
  ['18.4 (Debian 18.4-1)', '15', false],
  ['15.0', '15', false],
  ['14.23', '15', true],
  ['26.2.1.7', '26.2', false],
  ['26.1.9', '26.2', true],
  ['9.0', '15', true],
  ['1.9.5', '1.29', true],
  ['1.29', '1.29.1', true],
  ['managed', '15', false],
  ['', '15', false],
])('the version %s compared with %s is too old: %s', (version, floor, expected) => {
  expect(isBelow(version, floor)).toBe(expected);
});

it('an engine below its floor is refused with both versions, and one above or without a version is not', async () => {
  await expect(
    askEngine(
      checkOf(async () => '25.8.1'),
      1_000,
    ),
  ).rejects.toMatchObject({
    kind: 'refused',
    message: `ClickHouse at https://ch:8443/padron: its version is 25.8.1, and this release needs ${engineFloors.ClickHouse} or newer`,
  });
  expect(
    await askEngine(
      checkOf(async () => '27.1'),
      1_000,
    ),
  ).toBe('27.1');
  expect(
    await askEngine(
      checkOf(async () => null),
      1_000,
    ),
  ).toBeNull();
  expect(
    await askEngine(
      checkOf(async () => '0.1', 'Kafka'),
      1_000,
    ),
  ).toBe('0.1');
});

it('an engine that never answers is away after the limit', async () => {
  const asked = askEngine(
    checkOf(() => new Promise(() => {})),
    5,
  );
  await expect(asked).rejects.toMatchObject({ kind: 'away', message: expect.stringContaining('it does not answer') });
});

it.each([
  [{ code: 'ECONNREFUSED' }, 'away', 'it does not answer (ECONNREFUSED)'],
  [{ code: 'CERT_HAS_EXPIRED' }, 'refused', 'its certificate has expired (CERT_HAS_EXPIRED)'],
  [{ code: 'SELF_SIGNED_CERT_IN_CHAIN' }, 'refused', 'no trusted authority signed its certificate'],
  [{ code: 'ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED' }, 'refused', 'it refuses our client certificate'],
  [{ code: 'ERR_SSL_TLSV1_ALERT_UNKNOWN_CA' }, 'refused', 'it refuses our client certificate'],
  [{ code: 'ERR_SSL_WRONG_VERSION_NUMBER' }, 'refused', 'it does not speak TLS at this port'],
  [{ code: '28P01' }, 'refused', 'it refuses the user, password or token'],
  [{ code: '3D000' }, 'refused', 'it has no such database'],
  [{ code: '57P03' }, 'away', 'it does not answer (57P03)'],
  [{ code: 7 }, 'refused', 'this user or token lacks a right (grpc_7)'],
  [{ code: 14 }, 'away', 'it does not answer (grpc_14)'],
  [{ status: 401 }, 'refused', 'it refuses the user, password or token (http_401)'],
  [{ status: 503 }, 'away', 'it does not answer (http_503)'],
  [
    { cause: Object.assign(new Error('x'), { code: 'CERT_HAS_EXPIRED' }), code: 14 },
    'refused',
    'its certificate has expired',
  ],
])('the failure %j is %s: %s', (error, kind, reason) => {
  const failure = engineError('Temporal', 't:7233', Object.assign(new Error('x'), error));
  expect(failure.kind).toBe(kind);
  expect(failure.message).toContain(`Temporal at t:7233: ${reason}`);
});

it('no address and no text of an error shows user or password', () => {
  expect(shownAddress('postgres://padron:clave@db:5432/padron?sslmode=verify-full')).toBe('postgres://db:5432/padron');
  const failure = engineError('ClickHouse', 'https://ch', new Error('cannot use https://padron:clave@ch/x\nnow'));
  expect(failure.message).toBe('ClickHouse at https://ch: cannot use https://ch/x now');
});

it('a change is logged once, readiness shows refusals only, and an engine that is mended clears it', async () => {
  const lines: string[] = [];
  const note = (level: string) => (_: object, message: string) => void lines.push(`${level}: ${message}`);
  let ask: EngineCheck['ask'] = failing({ code: '28P01' });
  const check = checkOf(() => ask(), 'PostgreSQL');
  const watch = new EngineWatch([check], { error: note('error'), warn: note('warn'), info: note('info') });
  await watch.look();
  await watch.look();
  const refusal = 'PostgreSQL at https://ch:8443/padron: it refuses the user, password or token (28P01)';
  expect(watch.problem()).toBe(refusal);
  expect(watch.problem(['ClickHouse'])).toBeNull();
  ask = failing({ code: 'ECONNREFUSED' });
  await watch.look();
  await watch.look();
  expect(watch.problem()).toBeNull();
  ask = async () => '18.4';
  await watch.look();
  await watch.look();
  const away = 'PostgreSQL at https://ch:8443/padron: it does not answer (ECONNREFUSED)';
  expect(lines).toEqual([`error: ${refusal}`, `warn: ${away}`, 'info: PostgreSQL can be used again']);
});

it('a start ends for an engine that refuses us, and for a needed one that is away', async () => {
  const silent = { error() {}, warn() {}, info() {} };
  const refused = new EngineWatch([checkOf(failing({ code: '516' }))], silent);
  await expect(refused.requireUsable([])).rejects.toThrow('it refuses the user, password or token (516)');
  const away = new EngineWatch([checkOf(failing({ code: 'ECONNREFUSED' }))], silent);
  await away.requireUsable(['PostgreSQL']);
  await expect(away.requireUsable(['ClickHouse'])).rejects.toThrow('it does not answer');
});

it.each(['CERT_HAS_EXPIRED', 'ERR_TLS_CERT_ALTNAME_INVALID', 'ERR_SSL_TLSV1_ALERT_UNKNOWN_CA', '28P01', '516', '319'])(
  'work that fails with %s is repeated until an operator has mended it',
  (code) => {
    const cause = Object.assign(new Error('x'), { code });
    expect(passingOf(cause)).toBe('away');
    expect(passingOf(new Error('wrapped', { cause }))).toBe('away');
  },
);

it('a right that is missing is not repeated: the statement is as likely the cause', () => {
  expect(passingOf(Object.assign(new Error('x'), { code: '42501' }))).toBeNull();
  expect(passingOf(Object.assign(new Error('x'), { code: '497' }))).toBeNull();
});
