import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { deltaTypes } from '../../schemas/http/editions.ts';
import { registerNames } from '../../schemas/registers.ts';
import { startLoadedApi } from '../support/api/loaded-api.ts';
import type { TestCaller } from '../support/api/process.ts';
import { runSchemathesis } from '../support/api/schemathesis.ts';
import type { Surroundings } from '../support/api/surroundings.ts';

let around: Surroundings;
let caller: TestCaller;

beforeAll(async () => {
  const contract = { reference: 'CTD-1', from: '2020-01-01', until: null };
  ({ around, caller } = await startLoadedApi({ plan: 'empresa', contract }));
  // Files of changes are made by the first request. On a busy machine that takes longer than Schemathesis waits.
  const editions = registerNames.flatMap((register) =>
    (register === 'padron_reducido' ? [1, 2] : [1]).map((number) => `${register}/${number}`),
  );
  for (const edition of editions)
    for (const accept of deltaTypes) {
      const made = await caller.request(`/id/v1/ediciones/${edition}/cambios`, { method: 'HEAD', headers: { accept } });
      expect(made.status, edition).toBe(200);
    }
});
afterAll(() => around?.stop());

const runSeconds = 20;

// Checks the document's promises with values that its schemas allow and with others. It does not check that every
// allowed value is accepted, because no schema can state a RUC's check digit. The conventions' suite covers tokens.
const checks = [
  'not_a_server_error',
  'status_code_conformance',
  'content_type_conformance',
  'response_headers_conformance',
  'response_schema_conformance',
  'negative_data_rejection',
  'unsupported_method',
  'allow_header_conformance',
];

test('generated requests find no server error and nothing that the document does not say', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'padron-schemathesis-'));
  try {
    const { code, output } = await runSchemathesis(
      [
        `${around.api.url}/openapi.json`,
        ...['--header', `Authorization: Bearer ${caller.token}`],
        ...['--checks', checks.join(',')],
        ...['--phases', 'examples,coverage,fuzzing'],
        ...['--max-examples', '15', '--max-time', String(runSeconds), '--seed', '1'],
        // The stream's answer never ends.
        ...['--exclude-operation-id', 'seguirEventos'],
        ...['--request-timeout', '10', '--no-shrink', '--continue-on-failure', '--warnings', 'off'],
      ],
      folder,
      4 * runSeconds * 1_000,
    );
    expect(code, output).toBe(0);
    expect(around.api.output()).not.toMatch(/"level":(50|60)/);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
