import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { repositoryRoot } from '../../../deploy/local/config.ts';
import { toolFor, tryRun } from '../../support/deploy/tools.ts';

// No operator runs here. The examples are compared with schemas that are kept by hand, which also say what must not be
// lost of them: three brokers, two copies before an answer, SCRAM over TLS, two servers without replication.

const folder = path.join(repositoryRoot, 'deploy', 'engines');
const schemas = path.join(repositoryRoot, 'test', 'support', 'deploy', 'custom-resources');
const schemaLocation = `${schemas}/{{.ResourceKind}}{{.KindSuffix}}.json`;

it.for([
  ['kafka.yaml', 4],
  ['postgresql.yaml', 3],
  ['clickhouse.yaml', 3],
] as const)('%s has the resources of its operator', async ([name, resources], context) => {
  const kubeconform = await toolFor(context, 'kubeconform');
  const file = path.join(folder, name);
  const { code, output } = await tryRun(kubeconform, ['-summary', '-schema-location', schemaLocation, file]);
  expect({ code, output }).toMatchObject({
    code: 0,
    output: expect.stringContaining(`Valid: ${resources}, Invalid: 0, Errors: 0, Skipped: 0`),
  });
});

it('masks RUCs in the logs of ClickHouse by the one file that says how', () => {
  const masking = readFileSync(path.join(repositoryRoot, 'deploy', 'clickhouse', 'query-masking.xml'), 'utf8');
  const inside = masking.trimEnd().replaceAll(/^(?=.)/gm, ' '.repeat(8));
  expect(readFileSync(path.join(folder, 'clickhouse.yaml'), 'utf8')).toContain(`${inside}\n`);
});
