import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { readLink } from '../../../../api/operators/sessions.ts';
import { type CliStage, insertPublication, makeCliStage } from '../../../support/process/cli-stage.ts';

// `padron operators`, and the record of what other commands decided.

let stage: CliStage;
beforeAll(async () => {
  stage = await makeCliStage(inject('endpoints'));
});
afterAll(() => stage?.close());

interface Act {
  who: string;
  way: string;
  act: string;
  subject: string;
  reason: string | null;
}

test('a link is made for a new and for a known operator, and revoking ends it', async () => {
  const link = ['operators', 'link', '--name', 'Ana Ruiz'];
  const made = await stage.document<{ url: string; role: string }>(...link, '--role', 'decider', '--by', 'Eva Sol');
  expect(made.role).toBe('decider');
  expect(made.url).toMatch(/^\/enlace\/[\w-]{43}$/);
  const again = await stage.document<{ url: string; role: string }>(...link);
  expect(again.role).toBe('decider');
  const secretOf = (url: string) => url.split('/').at(-1)!;
  expect(await readLink(stage.pool, secretOf(made.url))).toEqual({ name: 'Ana Ruiz' });
  expect(await stage.document('operators', 'list')).toMatchObject([{ name: 'Ana Ruiz', revoked_at: null }]);
  await stage.document('operators', 'revoke', 'Ana Ruiz', '--reason', 'cambió de área');
  for (const { url } of [made, again]) expect(await readLink(stage.pool, secretOf(url))).toBeNull();
  const acts = await stage.document<Act[]>('operators', 'audit', '--subject', 'operator Ana Ruiz');
  expect(acts.map(({ act }) => act)).toEqual(['operators revoke', 'operators link', 'operators link']);
  expect(acts[0]!.reason).toBe('cambió de área');
  expect(acts.at(-1)!).toMatchObject({ who: 'Eva Sol', way: 'command' });
  expect(JSON.stringify(acts)).not.toContain(secretOf(made.url));
});

test('the console’s address comes before the link, and what is wrong is refused', async () => {
  const { stdout } = await stage.padron('operators', 'list');
  expect(stdout).toContain('Ana Ruiz');
  await stage.expectRefused(['operators', 'revoke', 'Nadie'], /no such operator/);
  await stage.expectRefused(['operators', 'link', '--name', ' '], /--name is empty/);
  await stage.expectRefused(['operators', 'link', '--name', 'X', '--minutes', '1441'], /cannot be used/);
});

test('a decision of the command is recorded as one of the console is', async () => {
  const id = await insertPublication(stage.pool, {
    register: 'sancionados',
    state: 'en_cuarentena',
    fecha_dato: '2026-11-26',
  });
  await stage.document('publications', 'reject', String(id), '--by', 'Ana Ruiz', '--reason', 'archivo cortado');
  const [act] = await stage.document<Act[]>('operators', 'audit', '--subject', `publication ${id}`);
  expect(act).toMatchObject({
    ...{ who: 'Ana Ruiz', way: 'command', act: 'publications reject', reason: 'archivo cortado' },
    ...{ before: { state: 'en_cuarentena' }, after: { state: 'rechazada', decided_by: 'Ana Ruiz' } },
  });
});
