import { afterAll, beforeAll, expect, test } from 'vitest';
import { createdWebhookAnswer } from '../../../schemas/http/webhooks.ts';
import { expectProblem, makeCaller, type TestCaller } from '../../support/api/process.ts';
import { type Surroundings, startSurroundings } from '../../support/api/surroundings.ts';
import { refusedTargets } from '../../support/delivery/refused-targets.ts';

// Every forbidden target is refused wherever a URL is accepted or tried. Row 31, which asks public name servers, is in
// the unit tests (pipelines/runtime/egress).
const urls = refusedTargets.filter(({ row }) => row !== 31).map(({ url }) => url);
const webhooks = '/id/v1/watch/webhooks';
const publicUrl = 'https://93.184.216.34/avisos';
let around: Surroundings;
let caller: TestCaller;
let webhook: string;

beforeAll(async () => {
  around = await startSurroundings({ PUBLIC_BASE_URL: 'https://api.padron.pe' });
  caller = await makeCaller(around.pool, around.api.url, { plan: 'empresa' });
  const made = await caller.request(webhooks, { method: 'POST', json: { url: publicUrl } });
  webhook = createdWebhookAnswer.parse(await made.json()).data.id;
});
afterAll(() => around.stop());

/** The kind of refusal, without an address or a name server's answer. */
async function expectRefused(response: Response, url: string): Promise<void> {
  const problem = await expectProblem(response, 'url_no_permitida');
  expect(problem.clase, url).toMatch(/^[a-z_]+$/);
  expect(problem.detail).toMatch(/^La URL no se admite como destino de avisos: [^0-9]+\.$/);
}

test('refused when a webhook is created', async () => {
  for (const url of urls) await expectRefused(await caller.request(webhooks, { method: 'POST', json: { url } }), url);
});

test('refused when it is changed, and the previous URL stays', async () => {
  for (const url of urls) {
    await expectRefused(await caller.request(`${webhooks}/${webhook}`, { method: 'PATCH', json: { url } }), url);
  }
  const { rows } = await around.pool.query('SELECT url FROM webhook WHERE id = $1', [webhook]);
  expect(rows).toEqual([{ url: publicUrl }]);
});

test('refused in a test delivery, however the URL came into the table', async () => {
  for (const url of urls) {
    await around.pool.query('UPDATE webhook SET url = $2 WHERE id = $1', [webhook, url]);
    await expectRefused(await caller.request(`${webhooks}/${webhook}/prueba`, { method: 'POST' }), url);
  }
  const { rows } = await around.pool.query('SELECT 1 FROM delivery WHERE webhook_id = $1', [webhook]);
  expect(rows).toEqual([]);
});
