import path from 'node:path';
import pc from 'picocolors';
import {
  demoDirectory,
  readLocalConfig,
  removeEndpoints,
  runningEndpointsFile,
  stackPaths,
  writeEndpoints,
} from '../config.ts';
import { type Foreground, readArguments, runInForeground } from '../foreground.ts';
import { type Chain, padron, startChain } from './chain.ts';
import {
  printAsked,
  printChanges,
  printDeliveries,
  printLookup,
  printPublications,
  printVerification,
  reportServed,
  Steps,
  waitUntil,
} from './output.ts';
import { askAll } from './questions.ts';
import { faultsOfFields, fieldsOf } from './record-fields.ts';
import { type TwoDays, writeTwoDays } from './two-days.ts';
import { faultsOf, type Watched } from './watched.ts';

const help = `npm run demo: the whole service on this machine, from an official publication to a signed delivery.

Starts the engines and the product, an official site that publishes two days of seven invented registers, and a customer's
HTTPS receiver; then keeps the API up until Ctrl-C. Everything listens on loopback; data in .local/demo, made anew each time.
Engines that the environment names may hold real data, so the demo runs with none of their addresses set.

  npm run demo                     show it and keep the API up
  npm run demo -- --exit           end when it has been shown; exit code 0 only if all is as expected
  npm run demo -- --rows 20000     larger registers (default 5000 taxpayers)`;

const deliveryTimeoutMs = 60_000;
const exitInterrupted = 130;
/** True when everything was shown and is as expected. */
let isShown = false;
const { localDirectory, addresses } = readLocalConfig();
const directory = demoDirectory(localDirectory);
const paths = stackPaths(directory);

const { values } = readArguments(help, {
  options: {
    help: { type: 'boolean', short: 'h' },
    exit: { type: 'boolean' },
    rows: { type: 'string', default: '5000' },
  },
});
const rows = Number(values.rows);

if (values.help) console.log(help);
else if (!Number.isInteger(rows) || rows < 3_000 || rows > 20_000_000) {
  console.error('--rows takes a whole number from 3000 to 20000000, for example --rows 20000');
  process.exitCode = 2;
} else {
  const exitCode = await runInForeground(demo);
  process.exitCode = exitCode === 0 && values.exit && !isShown ? exitInterrupted : exitCode;
}

async function demo(foreground: Foreground): Promise<void> {
  refuseAddresses();
  const steps = new Steps(foreground.checkStopped);
  steps.begin('Starting PostgreSQL, Kafka, a schema registry, ClickHouse, Temporal, then the product');
  const chain = await startChain({ directory, log: steps.line, checkStopped: foreground.checkStopped });
  foreground.onStop(() => chain.stop());
  shareAddresses(chain, foreground);
  steps.line(`API ${pc.underline(`${chain.product.apiUrl}/docs`)}`);
  steps.line(`Temporal's page ${pc.underline(chain.stack.endpoints.TEMPORAL_UI_URL)}`);

  steps.begin(
    `Inventing two days of all seven registers in their official formats: ${rows.toLocaleString('en')} taxpayers`,
  );
  const days = await writeTwoDays(path.join(directory, 'site'), rows);
  const { watched, complete } = days;

  steps.begin('A customer makes a watch list and a webhook through the public API');
  await subscribe(chain, watched, steps);

  steps.begin('Day 1: every register is downloaded, checked, compared, streamed and served');
  steps.line(pc.dim('seven registers side by side, each from its page to the API'));
  printPublications(steps, await chain.publishDay(days.first, reportServed(steps)), days.first);
  steps.begin(`GET /id/v1/ruc/${complete}: every field, with its register and the date of its data`);
  printLookup(steps, await chain.customer.lookUp(complete));

  steps.begin('Day 2: each next publication is compared with the one before, row by row');
  const stopped = (await chain.publishDay(days.second, reportServed(steps))).filter(
    ({ state }) => state !== 'publicada',
  );
  printPublications(steps, stopped, days.second);
  await printChanges(steps, chain);

  const expected = watched.filter((company) => company.expected !== null).length;
  steps.begin(`What the customer's receiver got: a delivery for each of ${expected} watched companies that changed`);
  await waitUntil(() => chain.received.length >= expected, deliveryTimeoutMs);
  printDeliveries(steps, chain);

  steps.begin('What customers ask, and what is answered now');
  const lookup = await chain.customer.lookUp(complete);
  const asked = await askAll(chain, days);
  printAsked(steps, asked);

  steps.begin('Proof: state and history are what the archived change files say, and the state is what was published');
  await printVerification(steps, chain);

  const dates = new Map<string, string>(days.second.files.map(({ register, fechaDato }) => [register, fechaDato]));
  const faults = [
    ...faultsOf(watched, chain.received),
    ...faultsOfFields(fieldsOf(lookup), dates),
    ...asked.filter(({ isExpected }) => !isExpected).map(({ request, answer }) => `${request} answered ${answer}`),
  ];
  await conclude(chain, days, faults, steps, foreground);
}

/** Invented data must never reach an engine that may hold real data. */
function refuseAddresses(): void {
  const names = Object.keys(addresses);
  if (names.length > 0) throw new Error(`the demo writes invented data: run it without ${names.join(', ')}`);
}

async function subscribe(chain: Chain, watched: readonly Watched[], steps: Steps): Promise<void> {
  const rucs = watched.map(({ ruc }) => ruc);
  const list = await chain.customer.createList('Proveedores', rucs);
  const webhook = await chain.customer.createWebhook(`${chain.receiver.origin}/avisos`);
  chain.receiver.trust(webhook.secreto);
  steps.line(`list ${list} with ${rucs.length} companies, webhook ${webhook.id} to ${chain.receiver.origin}/avisos`);
}

/** Lets `npx padron …` in another terminal find this stack. If `npm start` also runs, its stack is found instead. */
function shareAddresses(chain: Chain, foreground: Foreground): void {
  writeEndpoints(paths.endpointsFile, { ...chain.stack.endpoints, ...chain.product.endpoints });
  foreground.onStop(() => removeEndpoints(paths.endpointsFile));
}

async function conclude(
  chain: Chain,
  days: TwoDays,
  faults: readonly string[],
  steps: Steps,
  foreground: Foreground,
): Promise<void> {
  const good =
    'All as it should be: every field dated, every delivery there and verified, every answer right, nothing differs.';
  steps.begin(faults.length === 0 ? pc.green(good) : pc.red('Not as expected:'));
  for (const fault of faults) steps.line(fault);
  isShown = faults.length === 0;
  if (!isShown) foreground.fail('the demo did not show what it should');
  else if (values.exit) foreground.end();
  else await printWhatToTry(chain, days, steps);
}

/** The link into the operators' console works once. It lasts a day, because the demo may be looked at later. */
async function operatorLink(chain: Chain): Promise<string> {
  const words = ['operators', 'link', '--name', 'Operadora de la demo', '--role', 'decider', '--minutes', '1440'];
  const environment = { ...chain.environment, OPERATOR_BASE_URL: chain.product.operatorsUrl };
  return (await padron<{ url: string }>(words, environment)).url;
}

async function printWhatToTry(chain: Chain, { complete }: TwoDays, steps: Steps): Promise<void> {
  const { apiUrl } = chain.product;
  steps.begin('The API stays up until Ctrl-C. In another terminal:');
  for (const line of [
    `TOKEN=${chain.token}`,
    `curl -sw '\\n' -H "Authorization: Bearer $TOKEN" ${apiUrl}/id/v1/ruc/${complete}`,
    `curl -sw '\\n' -H "Authorization: Bearer $TOKEN" '${apiUrl}/id/v1/watch/eventos?limite=5'`,
    `curl -sw '\\n' -H 'Authorization: Bearer pad_sandbox_publico' ${apiUrl}/id/v1/calendario/2026-07-28`,
    `${paths.endpointsFile === runningEndpointsFile(localDirectory) ? '' : `PADRON_LOCAL_DIR='${directory}' `}npx padron registers`,
  ])
    console.log(`  ${line}`);
  console.log(
    `\n  In a browser: ${['/', '/estado', '/docs'].map((page) => pc.underline(`${apiUrl}${page}`)).join('  ')}`,
  );
  const link = await chain.customer.makeConsoleLink();
  console.log(`  The customer's console, by a link that works once: ${pc.underline(link)}`);
  console.log(`  The operators' console, by another: ${pc.underline(await operatorLink(chain))}`);
}
