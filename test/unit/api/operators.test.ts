import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { identityProviderBlock, identityProviderOf, operatorAddress } from '../../../api/operators/config.ts';
import { previewRevert } from '../../../api/operators/conflicts.ts';
import { marginOf } from '../../../api/pages/operator/gates.tsx';
import { duration } from '../../../api/pages/operator/history.tsx';
import type { Archive } from '../../../pipelines/archive/archive.ts';
import { findChanges } from '../../../pipelines/changes/find-changes.ts';
import type { Change } from '../../../pipelines/changes/record.ts';
import type { Edition } from '../../../pipelines/editions/editions.ts';
import type { Pool } from '../../../pipelines/runtime/postgres.ts';
import { writeChanges } from '../../support/registers/change-files.ts';
import { change, row } from '../../support/watch/harness.ts';

// What the operators' pages compute without an engine.

const folder = mkdtempSync(join(tmpdir(), 'padron-operators-'));
afterAll(() => rmSync(folder, { recursive: true }));

const signal = new AbortController().signal;
const at = new Date('2026-11-27T08:00:00Z');
const [acme, bravo, charlie, delta] = ['20990000019', '20990000027', '20990000035', '20990000043'];
const register = 'padron_reducido';
const file = (edition: number, changes: readonly Change[]) => writeChanges(folder, register, edition, changes);

test('an identity provider needs TLS, a client and a group', () => {
  const read = (settings: Record<string, string>) => identityProviderOf(identityProviderBlock.parse(settings));
  const issuer = { OIDC_ISSUER_URL: 'https://id.example.pe/realms/a' };
  expect(read({})).toBeNull();
  expect(read({ ...issuer, OIDC_CLIENT_ID: 'padron', OIDC_VIEWER_GROUP: 'miran' })).toEqual({
    ...{ issuer: issuer.OIDC_ISSUER_URL, clientId: 'padron', clientSecret: null, scope: 'openid profile email' },
    ...{ groupsClaim: 'groups', deciderGroup: null, viewerGroup: 'miran', prompt: 'login' },
  });
  expect(() => read(issuer)).toThrow('needs OIDC_CLIENT_ID');
  expect(() => read({ ...issuer, OIDC_CLIENT_ID: 'padron' })).toThrow('OIDC_DECIDER_GROUP or OIDC_VIEWER_GROUP');
  expect(() => read({ OIDC_ISSUER_URL: 'http://id.example.pe' })).toThrow('must be https');
  const local = { OIDC_ISSUER_URL: 'http://127.0.0.1:8090', OIDC_CLIENT_ID: 'padron', OIDC_DECIDER_GROUP: 'x' };
  expect(read(local)?.issuer).toBe(local.OIDC_ISSUER_URL);
});

test('the console is at its address, or at its port', () => {
  const unset = { OPERATOR_HTTP_HOST: '127.0.0.1' };
  expect(operatorAddress(unset)).toBeNull();
  expect(operatorAddress({ ...unset, OPERATOR_HTTP_PORT: 0 })).toBeNull();
  expect(operatorAddress({ ...unset, OPERATOR_HTTP_PORT: 9_100 })).toBe('http://127.0.0.1:9100');
  const everywhere = { OPERATOR_HTTP_HOST: '0.0.0.0', OPERATOR_HTTP_PORT: 9_100 };
  expect(operatorAddress(everywhere)).toBe('http://127.0.0.1:9100');
  const behind = { ...everywhere, OPERATOR_BASE_URL: 'https://operadores.example.pe' };
  expect(operatorAddress(behind)).toBe('https://operadores.example.pe');
});

test.each([
  [{ gate: 'rejected', value: 0.001, limit: 0.01, passed: true }, 'quedan 0.9 puntos'],
  [{ gate: 'changed.company', value: 0.2, limit: 0.01, passed: false }, 'pasa 19 puntos del límite'],
  [{ gate: 'changed.company', value: 0.2, limit: 0.01, passed: true }, 'pasa 19 puntos del límite, con pocos casos'],
  [{ gate: 'rows', value: 0.99, limit: 0.98, passed: true }, 'queda 1 punto'],
  [{ gate: 'rows', value: 0.5, limit: 0.98, passed: false }, 'pasa 48 puntos del límite'],
  [{ gate: 'notices', value: 1_500, limit: 1_000, passed: false }, 'pasa 500 del límite'],
  [{ gate: 'notices', value: 15, limit: 'unknown', passed: true }, '—'],
  [{ gate: 'date', value: '2026-11-27', limit: '2026-11-26', passed: true }, '—'],
])('the margin of %o is "%s"', (gate, text) => {
  expect(marginOf(gate)).toBe(text);
});

test('a duration stands in the unit that fits', () => {
  expect([12, 300, 12_600].map(duration)).toEqual(['12 s', '5 min', '3.5 h']);
});

test('changes are found by column and kind, page by page, and never those of natural persons', async () => {
  const { path } = file(2, [
    change(2, '10458741239', at, { after: row({ estado: 'BAJA DEFINITIVA' }) }),
    change(2, acme, at, { after: row({ estado: 'BAJA DEFINITIVA' }) }),
    change(2, bravo, at, { op: 'c', before: null }),
    change(2, charlie, at, { after: row({ nombre: 'OTRA' }) }),
    change(2, delta, at, { op: 'r' }),
  ]);
  const all = { operation: null, column: null, ruc: null, after: 0 };
  const rucs = async (filter: Partial<Parameters<typeof findChanges>[1]>, most = 10) => {
    const { changes, next } = await findChanges(path, { ...all, ...filter }, most, signal);
    return [changes.map(({ ruc }) => ruc), next];
  };
  expect(await rucs({})).toEqual([[acme, bravo, charlie], null]);
  expect(await rucs({ column: 'estado' })).toEqual([[acme], null]);
  expect(await rucs({ operation: 'c' })).toEqual([[bravo], null]);
  expect(await rucs({ ruc: charlie })).toEqual([[charlie], null]);
  const [first, next] = await rucs({}, 2);
  expect(first).toEqual([acme, bravo]);
  expect(await rucs({ after: next as number }, 2)).toEqual([[charlie], null]);
});

test('undoing leaves the rows that later editions changed, and only these', async () => {
  const given = row({ estado: 'BAJA DEFINITIVA' });
  const files = [
    file(
      2,
      [acme, bravo, charlie]
        .map((ruc) => change(2, ruc, at, { after: given }))
        .concat([change(2, delta, at, { op: 'd', after: null })]),
    ),
    file(3, [
      change(3, acme, at, { before: given, after: row({ estado: 'SUSPENSION TEMPORAL' }) }),
      change(3, bravo, at, { op: 'd', before: given, after: null }),
      change(3, delta, at, { op: 'c', before: null }),
    ]),
    // The first company is again as the edition left it, so nothing of it is lost by undoing.
    file(4, [change(4, acme, at, { before: row({ estado: 'SUSPENSION TEMPORAL' }), after: given })]),
  ];
  const archive = {
    localFile: async ({ sha256 }: { sha256: string }) => files.find((each) => each.sha256 === sha256)!.path,
  };
  const later = (count: number) => ({
    query: async () => ({ rows: files.slice(1, 1 + count).map(({ sha256 }) => ({ change_file_sha256: sha256 })) }),
  });
  const edition = { register, number: 2, changes: 4, change_file_sha256: files[0]!.sha256 } as Edition;
  const previewWith = (count: number) =>
    previewRevert({ pool: later(count) as unknown as Pool, archive: archive as unknown as Archive }, edition, signal);
  expect(await previewWith(0)).toMatchObject({ undone: 4, later: 0, listed: [] });
  expect(await previewWith(1)).toMatchObject({
    undone: 1,
    conflicts: { changed_again: 1, gone: 1, came_back: 1 },
    later: 1,
  });
  expect(await previewWith(2)).toMatchObject({ undone: 2, conflicts: { changed_again: 0, gone: 1, came_back: 1 } });
});
