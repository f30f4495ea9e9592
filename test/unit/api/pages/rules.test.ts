import { expect, test } from 'vitest';
import { z } from 'zod';
import { makeConsolePages } from '../../../../api/pages/console/pages.ts';
import { account, form, type Page } from '../../../../api/pages/page.ts';

// The rules in the table of pages. What they do is tested in test/pages/rights.test.ts.

const page: Page<never> = {
  forms: { borrar: form(z.strictObject({}), async () => ({ to: '/consola/resumen' })) },
  show: () => ({ to: '/consola/resumen' }),
};

test('a form without a rule, and a rule without a form, stop the start', () => {
  const make = (forms: Parameters<typeof account>[2]) => () => account('/consola/x', page as never, forms);
  expect(make({})).toThrow('/consola/x has the forms borrar and rules for ');
  expect(make({ forms: { borrar: { needs: ['ver'] }, otro: { needs: ['ver'] } } })).toThrow('rules for borrar,otro');
  expect(make({ forms: { borrar: { needs: ['ver'] } } })).not.toThrow();
});

// Making the pages uses none of their dependencies.
const rows = makeConsolePages({} as never);

test('every page below the console needs a session, but for the link that opens one', () => {
  expect(rows.filter(({ access }) => access === 'anyone').map(({ path }) => path)).toEqual(['/consola/enlace']);
  for (const { path } of rows) expect(path).toMatch(/^\/consola\/[a-z]+/);
});

test('a path with a parameter comes after the fixed paths that it would hide', () => {
  const hides = (one: string, other: string) => new RegExp(`^${one.replace(/\{\w+\}/g, '[^/]+')}$`).test(other);
  const hidden = rows.flatMap(({ path }, at) => rows.slice(at + 1).filter((later) => hides(path, later.path)));
  expect(hidden.map(({ path }) => path)).toEqual([]);
});

test('what deletes, and what shows a secret, asks for the token again', () => {
  const confirmed = rows.flatMap(({ path, rules }) =>
    Object.entries(rules?.forms ?? {}).flatMap(([name, rule]) => (rule.isConfirmed ? [`${path} ${name}`] : [])),
  );
  expect(confirmed).toEqual([
    '/consola/listas/{lista} borrar',
    '/consola/webhooks/nuevo crear',
    '/consola/webhooks/{webhook} rotar',
    '/consola/webhooks/{webhook} borrar',
    '/consola/tokens crear',
    '/consola/tokens revocar',
    '/consola/tokens enlazar',
  ]);
});
