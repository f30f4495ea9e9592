import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, test } from 'vitest';
import { readLocalConfig } from '../../deploy/local/config.ts';
import { company, startLoadedApi, unknownCompany } from '../support/api/loaded-api.ts';
import type { TestCaller } from '../support/api/process.ts';
import type { Surroundings } from '../support/api/surroundings.ts';
import { type Generator, generators, type Job } from './generators.ts';
import { MissingProgram } from './tools.ts';

/*
 * Generates clients from the document of a running API, compiles them where a compiler is there, and lets one of each
 * language look a RUC up, read a 404 and a batch. What the machine lacks is skipped and named in the table.
 */

let around: Surroundings;
let caller: TestCaller;

const folder = path.join(readLocalConfig().localDirectory, 'clients');
const document = path.join(folder, 'openapi.json');
const rows = new Map<string, Record<string, string>>();

/** Has a wrong check digit, so that the batch does not look it up. */
const wrongRuc = '20990000018';

const expected = [`${company} ACTIVO 2026-11-26`, '404 ruc_no_encontrado', 'true false null', ''].join('\n');

beforeAll(async () => {
  ({ around, caller } = await startLoadedApi());
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const response = await fetch(`${around.api.url}/openapi.json`);
  writeFileSync(document, JSON.stringify(await response.json(), null, 1));
});

afterAll(async () => {
  await around?.stop();
  console.table(generators.map(({ name, version }) => ({ generator: name, version, ...rows.get(name) })));
});

test.concurrent.for(generators)('$name', async (generator, { skip, expect }) => {
  const row: Record<string, string> = { generated: '', compiled: '', ran: '' };
  rows.set(generator.name, row);
  const job = jobOf(generator);
  mkdirSync(job.folder, { recursive: true });
  const missing: string[] = [];
  const steps = [
    ['generated', generator.generate],
    ['compiled', generator.compile],
    ['ran', generator.run],
  ] as const;
  for (const [step, work] of steps) {
    if (work === undefined) continue;
    row[step] = 'no';
    try {
      const output = await work(job);
      if (step === 'ran') expect(output).toBe(expected);
      row[step] = 'yes';
    } catch (error) {
      if (!(error instanceof MissingProgram)) throw error;
      row[step] = `skipped: ${error.message}`;
      missing.push(error.message);
      break;
    }
  }
  if (row.generated !== 'yes') skip(missing.join('; '));
});

function jobOf({ name }: Generator): Job {
  return {
    folder: path.join(folder, name.replaceAll(' ', '-')),
    document,
    program: {
      args: [company, unknownCompany, wrongRuc],
      environment: { PADRON_URL: around.api.url, PADRON_TOKEN: caller.token },
    },
  };
}
