import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { rootCertificates } from 'node:tls';
import { afterAll, expect, it } from 'vitest';
import { repositoryRoot } from '../../../deploy/local/config.ts';
import { apiSecrets } from '../../support/api/process.ts';
import { kubernetesVersion } from '../../support/deploy/kubernetes-schemas.ts';
import { run, toolFor, tryRun } from '../../support/deploy/tools.ts';

// Kubernetes only passes the settings on. Here each process reads those that the chart gives it.

const chart = path.join(repositoryRoot, 'deploy', 'helm', 'padron');

/** Stands for the folder of the Secret with certificates, whose files the processes read when they start. */
const certificates = mkdtempSync(path.join(tmpdir(), 'padron-certificates-'));
writeFileSync(path.join(certificates, 'kafka-ca.crt'), rootCertificates[0]!);
afterAll(() => rmSync(certificates, { recursive: true, force: true }));

/** What the chart's Secret must hold at least. */
const secrets = {
  ...apiSecrets,
  DATABASE_URL: 'postgres://padron:password@postgresql.engines:5432/padron',
};
/** It holds this, too, where the values name a user of Kafka. */
const login = { KAFKA_SASL_PASSWORD: 'password' };

interface Container {
  name: string;
  program: string;
  environment: Record<string, string>;
}

/** The containers of the rendered Deployments, read from the lines as the templates write them. */
function containersIn(rendered: string): Container[] {
  return rendered
    .split(/^---\n/m)
    .filter((document) => document.includes('\nkind: Deployment\n'))
    .map((document) => {
      const pairs = document.matchAll(/^ +- name: ([A-Z][A-Z0-9_]*)\n +value: (".*")$/gm);
      const here = (value: string) => value.replace('/etc/padron/certificates', certificates);
      return {
        name: /^ {2}name: (\S+)$/m.exec(document)![1]!,
        program: /command: \[node, --import, tsx, (\S+)\]/.exec(document)![1]!,
        environment: Object.fromEntries(
          [...pairs].map(([, name, value]) => [name, here(JSON.parse(value!) as string)]),
        ),
      };
    });
}

it.for([
  ['smallest-values.yaml', ['padron-consumers']],
  ['everything-values.yaml', ['padron-consumers']],
  ['production-values.yaml', ['padron-consumers-a', 'padron-consumers-b']],
] as const)('%s gives every process what it reads', async ([name, consumers], context) => {
  const helm = await toolFor(context, 'helm');
  const values = ['--values', path.join(chart, 'ci', name)];
  const rendered = await run(helm, ['template', 'padron', chart, '--kube-version', kubernetesVersion, ...values]);
  const containers = containersIn(rendered);
  expect(containers.map((each) => each.name)).toEqual(['padron-api', ...consumers, 'padron-worker']);
  for (const { name: deployment, program, environment } of containers) {
    // Only these variables, and no .env or secret of this machine.
    const bare = ['-i', `PATH=${process.env.PATH}`, 'WORK_DIR=/var/lib/padron/work'];
    const given = { ...secrets, ...('KAFKA_SASL_USERNAME' in environment ? login : {}), ...environment };
    const variables = Object.entries(given).map(([variable, value]) => `${variable}=${value}`);
    const command = [process.execPath, '--import', 'tsx', program, '--check-config'];
    const { output } = await tryRun('env', [...bare, ...variables, ...command], { cwd: repositoryRoot });
    expect(output, deployment).toBe('configuration ok\n');
    expect(environment).toMatchObject({ HEALTH_HOST: '0.0.0.0', HEALTH_PORT: '9090', STOP_DEADLINE_MS: '20000' });
  }
});
