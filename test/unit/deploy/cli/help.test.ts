import { Writable } from 'node:stream';
import type { Command } from 'commander';
import { expect, test } from 'vitest';
import { PadronCommand } from '../../../../deploy/cli/arguments.ts';
import { CommandContext } from '../../../../deploy/cli/context.ts';
import { addNouns } from '../../../../deploy/cli/nouns.ts';

const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
const context = new CommandContext({ environment: {}, endpointsFile: '/none', stdout: nowhere, stderr: nowhere });
const program = new PadronCommand('padron');
await addNouns(program, context, undefined);

function commandsOf(command: Command): Command[] {
  return command.commands.flatMap((one) => [one, ...commandsOf(one)]);
}

function pathOf(command: Command): string {
  return command.parent === null ? command.name() : `${pathOf(command.parent)} ${command.name()}`;
}

function helpOf(command: Command): string {
  let help = '';
  command.configureOutput({ writeOut: (text) => (help += text) }).outputHelp();
  return help;
}

test.each(commandsOf(program).map((command) => [pathOf(command), command] as const))(
  '%s --help says what it is for, what each option means, and shows how',
  (path, command) => {
    expect(command.description()).not.toBe('');
    for (const { flags, description } of command.options) expect(description, flags).not.toBe('');
    for (const argument of command.registeredArguments) expect(argument.description, argument.name()).not.toBe('');
    expect(helpOf(command)).toContain(`\n  $ npx ${path}`);
    if (command.commands.length === 0) expect(command.options.map(({ long }) => long)).toContain('--json');
  },
);
