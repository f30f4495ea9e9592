import { readLocalConfig, removeEndpoints, stackPaths, writeEndpoints } from './config.ts';
import { addressTable, type Foreground, helpOption, readArguments, runInForeground } from './foreground.ts';
import { startProduct } from './product.ts';
import { startStack } from './stack.ts';

const help = `npm start: starts the engines, runs the migrations, starts api, consumers and worker, and waits.

Ctrl-C stops all; the data stays in .local/data. A process or an engine that dies stops the whole with exit code 1.
While it runs, \`npx padron …\` finds the addresses by itself (.local/run/endpoints.json).
Variables of the environment reach the processes (SOURCE_PADRON_REDUCIDO_URL, LOG_LEVEL, …); an engine whose address is
in the environment is used and not started. Logs: .local/data/logs.`;

if (readArguments(help, helpOption).values.help) console.log(help);
else process.exitCode = await runInForeground(start);

async function start(foreground: Foreground): Promise<void> {
  const startedAt = Date.now();
  const paths = stackPaths(readLocalConfig().localDirectory);
  const stack = await startStack({
    directory: paths.data,
    log: console.log,
    onEngineEnd: (engine) => foreground.fail(`${engine} has ended: stopping all`),
  });
  foreground.onStop(() => stack.stop());
  const product = await startProduct(stack, {
    log: console.log,
    onProcessEnd: (name) => foreground.fail(`${name} has ended: stopping all`),
  });
  foreground.onStop(() => product.stop());
  const endpoints = { ...stack.endpoints, ...product.endpoints };
  writeEndpoints(paths.endpointsFile, endpoints);
  foreground.onStop(() => removeEndpoints(paths.endpointsFile));
  console.log(`\n${addressTable(Object.entries(endpoints))}\n`);
  const awaited = await product.awaits();
  if (awaited !== null) {
    console.log(`look-ups answer 503: ${awaited}\nload them with: npx padron publications run <register>… --wait\n`);
  }
  const seconds = ((Date.now() - startedAt) / 1000).toFixed(1);
  console.log(`all ready in ${seconds} s: ${product.apiUrl}/docs shows the API. Ctrl-C stops.`);
}
