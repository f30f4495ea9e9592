import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

// Workflow code runs in Temporal's deterministic sandbox. It may import the activities' types; their code would bring
// engines in.
const workflows = new URL('../../../workflows/', import.meta.url);
const files = readdirSync(workflows, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map((entry) => `${entry.name}/workflow.ts`);

describe.each(files)('workflows/%s', (file) => {
  const text = readFileSync(new URL(file, workflows), 'utf8');
  const imports = [...text.matchAll(/^import\s+(type\s)?[^;]*?from\s+'([^']+)';/gms)];

  it('takes nothing but a type from the activities', () => {
    const fromActivities = imports.filter(([, , source]) => source!.endsWith('/activities.ts'));
    expect(fromActivities).toHaveLength(1);
    for (const [, type] of fromActivities) expect(type).toBeDefined();
  });

  it('reads no clock of the machine, no chance and no environment by a module', () => {
    for (const [, , source] of imports) expect(source).toMatch(/^(\.\/[a-z-]+\.ts|@temporalio\/(workflow|common))$/);
  });
});

it('both workflows are looked at', () =>
  expect(files.sort()).toEqual(['delivery/workflow.ts', 'publication/workflow.ts']));
