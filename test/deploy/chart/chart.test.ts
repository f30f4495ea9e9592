import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { repositoryRoot } from '../../../deploy/local/config.ts';
import { kubernetesSchemas, kubernetesVersion } from '../../support/deploy/kubernetes-schemas.ts';
import { run, toolFor, tryRun } from '../../support/deploy/tools.ts';

// No cluster runs here. Helm renders the chart, and the result is compared with Kubernetes' own description of its API.

const chart = path.join(repositoryRoot, 'deploy', 'helm', 'padron');
const valueFiles = readdirSync(path.join(chart, 'ci')).map((name) => path.join(chart, 'ci', name));
const customResources = path.join(repositoryRoot, 'test', 'support', 'deploy', 'custom-resources');
const scratch = mkdtempSync(path.join(tmpdir(), 'padron-chart-'));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

const render = (helm: string, values: string, ...more: string[]) =>
  run(helm, ['template', 'production', chart, '--kube-version', kubernetesVersion, '--values', values, ...more]);

describe.each(valueFiles.map((file) => [path.basename(file), file] as const))('with %s', (_name, values) => {
  it('passes helm lint', async (context) => {
    const helm = await toolFor(context, 'helm');
    const args = ['lint', '--strict', '--kube-version', kubernetesVersion, '--values', values, chart];
    expect(await run(helm, args)).toContain('1 chart(s) linted, 0 chart(s) failed');
  });

  it('renders resources that Kubernetes accepts', async (context) => {
    const [helm, kubeconform] = [await toolFor(context, 'helm'), await toolFor(context, 'kubeconform')];
    const rendered = path.join(scratch, path.basename(values));
    writeFileSync(rendered, await render(helm, values));
    const folders = [await kubernetesSchemas(), customResources];
    const locations = folders.flatMap((folder) => [
      '-schema-location',
      `${folder}/{{.ResourceKind}}{{.KindSuffix}}.json`,
    ]);
    const { code, output } = await tryRun(kubeconform, ['-strict', '-summary', ...locations, rendered]);
    expect({ code, output }).toMatchObject({ code: 0, output: expect.stringContaining('Invalid: 0, Errors: 0') });
    expect(output).toContain('Skipped: 0');
  });
});

it('follows the advice of kube-score', async (context) => {
  const [helm, kubeScore] = [await toolFor(context, 'helm'), await toolFor(context, 'kube-score')];
  const rendered = path.join(scratch, 'score.yaml');
  writeFileSync(rendered, await render(helm, path.join(chart, 'ci', 'production-values.yaml')));
  const advice = await tryRun(kubeScore, [
    'score',
    ...['--kubernetes-version', `v${kubernetesVersion.replace(/\.\d+$/, '')}`, '--output-format', 'ci'],
    // A limit of CPU slows a process down while its node is idle.
    '--ignore-container-cpu-limit',
    // The image is named by its digest, so a second pull brings the same.
    ...['--ignore-test', 'container-image-pull-policy'],
    rendered,
  ]);
  expect(advice.output.split('\n').filter((line) => line.startsWith('[CRITICAL]'))).toEqual([]);
  expect(advice.code).toBe(0);
});

it('passes its own unit tests, in which each bad value stops with a sentence', async (context) => {
  const unittest = await toolFor(context, 'helm-unittest');
  const { code, output } = await tryRun(unittest, ['--strict', chart]);
  expect(code, output).toBe(0);
  expect(Number(/Tests: +(\d+) passed, \d+ total/.exec(output)?.[1])).toBeGreaterThan(30);
});

it('stops helm template itself at a bad value', async (context) => {
  const helm = await toolFor(context, 'helm');
  const values = path.join(chart, 'ci', 'smallest-values.yaml');
  const template = ['template', 'p', chart, '--kube-version', kubernetesVersion, '--values', values];
  const bad = await tryRun(helm, [...template, '--set', 'existingSecret=']);
  expect(bad.code).toBe(1);
  expect(bad.output).toContain('Set existingSecret to the name of a Secret with DATABASE_URL');
  const misspelt = await tryRun(helm, [...template, '--set', 'worker.replica=3']);
  expect(misspelt.output).toMatch(/additional properties 'replica' not allowed/);
});

it('renders the production values as the golden files say', async (context) => {
  const helm = await toolFor(context, 'helm');
  const rendered = await render(helm, path.join(chart, 'ci', 'production-values.yaml'));
  const byTemplate = new Map<string, string>();
  for (const document of rendered.split(/^---\n/m).filter((text) => text.trim() !== '')) {
    const template = /^# Source: padron\/templates\/(.+)\n/.exec(document)?.[1] ?? 'unknown';
    byTemplate.set(template, `${byTemplate.get(template) ?? ''}---\n${document}`);
  }
  const golden = path.join(import.meta.dirname, 'golden');
  for (const [template, text] of byTemplate) await expect(text).toMatchFileSnapshot(path.join(golden, template));
  const left = readdirSync(golden).filter((name) => !byTemplate.has(name));
  expect(left, 'Delete the golden files of templates that render nothing.').toEqual([]);
});

it('hands the rules on as deploy/observability has them, with what Prometheus fills in', async (context) => {
  const helm = await toolFor(context, 'helm');
  const rules = readFileSync(path.join(repositoryRoot, 'deploy', 'observability', 'rules.yaml'), 'utf8');
  expect(rules).toContain('{{ $');
  const rendered = await render(helm, path.join(chart, 'ci', 'everything-values.yaml'));
  const indented = rules.trimEnd().replaceAll(/^(?=.)/gm, '  ');
  expect(rendered.replaceAll(/ +$/gm, '').includes(`\nspec:\n${indented}\n`)).toBe(true);
});

it('has the version of the package', () => {
  const { version } = JSON.parse(readFileSync(path.join(repositoryRoot, 'package.json'), 'utf8')) as {
    version: string;
  };
  expect(readFileSync(path.join(chart, 'Chart.yaml'), 'utf8')).toContain(`\nappVersion: ${version}\n`);
});
