import { Writable } from 'node:stream';
import { expect, test } from 'vitest';
import { PadronCommand } from '../../../../deploy/cli/arguments.ts';
import { CommandContext } from '../../../../deploy/cli/context.ts';
import { addNouns } from '../../../../deploy/cli/nouns.ts';

const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
const context = new CommandContext({ environment: {}, endpointsFile: '/none', stdout: nowhere, stderr: nowhere });

async function nounsFor(first: string | undefined): Promise<string[]> {
  const program = new PadronCommand('padron');
  await addNouns(program, context, first);
  return program.commands.map((command) => command.name());
}

const all = [
  ...[
    'migrate',
    'engines',
    'accounts',
    'contracts',
    'tokens',
    'registers',
    'publications',
    'schemas',
    'editions',
    'verify',
  ],
  ...['rebuild', 'replay', 'deliveries', 'calendar', 'backup', 'rejects', 'operators'],
];

test('only the noun that is asked for is loaded', async () => {
  for (const noun of all) expect(await nounsFor(noun)).toEqual([noun]);
});

test('--help, a typing error and no word at all know every noun', async () => {
  for (const first of ['--help', 'acounts', undefined]) expect(await nounsFor(first)).toEqual(all);
});
