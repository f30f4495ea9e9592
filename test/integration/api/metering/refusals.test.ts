import { afterAll, beforeAll, expect, test } from 'vitest';
import { sandboxToken } from '../../../support/api/calendar-app.ts';
import { startLoadedApi } from '../../../support/api/loaded-api.ts';
import { provocations } from '../../../support/api/problems.ts';
import { expectProblem, requestsOf, type TestCaller } from '../../../support/api/process.ts';
import type { Surroundings } from '../../../support/api/surroundings.ts';

let around: Surroundings;
let caller: TestCaller;

beforeAll(async () => {
  ({ around, caller } = await startLoadedApi());
});
afterAll(() => around?.stop());

/** The counted refusals by their labels, as Prometheus reads them. */
async function refusals(): Promise<Record<string, number>> {
  const text = await (await fetch(`${around.api.healthUrl}/metrics`)).text();
  const lines = text.matchAll(/^padron_api_limit_refusals_total\{(.*)\} (\d+)$/gm);
  return Object.fromEntries([...lines].map(([, labels, value]) => [labels!, Number(value)]));
}

test('each code of a limit is counted by plan, and the account is not named', async () => {
  const byLimits = ['limite_por_minuto', 'cuota_agotada', 'demasiados_flujos'];
  const codes = [...byLimits, 'contrato_requerido', 'ruc_formato'];
  for (const { code, request } of provocations.filter(({ code }) => codes.includes(code)))
    await expectProblem(await request({ around, caller }), code);
  const sandbox = requestsOf(around.api.url, sandboxToken);
  // More requests than two minutes admit, so that some are refused even if a minute ends meanwhile.
  const statuses = await Promise.all(
    Array.from({ length: 130 }, async () => (await sandbox('/id/v1/calendario/2026-11-28')).status),
  );
  const refused = statuses.filter((status) => status === 429).length;
  expect(refused).toBeGreaterThan(0);
  expect(await refusals()).toEqual({
    'code="limite_por_minuto",plan="lento",process="api"': 1,
    'code="cuota_agotada",plan="vacio",process="api"': 1,
    'code="demasiados_flujos",plan="crecimiento",process="api"': 1,
    'code="limite_por_minuto",plan="none",process="api"': refused,
  });
});
