import type { PadronCommand } from './arguments.ts';
import type { CommandContext } from './context.ts';

type AddCommands = (program: PadronCommand, context: CommandContext) => void;

/**
 * The first words of all commands, called nouns, such as `accounts` in `padron accounts create`. A noun's file is
 * imported only when the noun is used. Otherwise `accounts` would wait a second for the clients of Kafka and Temporal.
 */
const nouns: Readonly<Record<string, () => Promise<AddCommands>>> = {
  migrate: async () => (await import('./migrate.ts')).addMigrateCommand,
  engines: async () => (await import('./engines.ts')).addEnginesCommand,
  accounts: async () => (await import('./accounts.ts')).addAccountsCommands,
  contracts: async () => (await import('./contracts.ts')).addContractsCommands,
  tokens: async () => (await import('./accounts.ts')).addTokensCommands,
  registers: async () => (await import('./registers.ts')).addRegistersCommand,
  publications: async () => (await import('./publications/commands.ts')).addPublicationsCommands,
  schemas: async () => (await import('./migrate.ts')).addSchemasCommands,
  editions: async () => (await import('./editions/commands.ts')).addEditionsCommands,
  verify: async () => (await import('./verify.ts')).addVerifyCommand,
  rebuild: async () => (await import('./verify.ts')).addRebuildCommand,
  replay: async () => (await import('./replay.ts')).addReplayCommand,
  deliveries: async () => (await import('./deliveries.ts')).addDeliveriesCommands,
  calendar: async () => (await import('./calendar.ts')).addCalendarCommands,
  backup: async () => (await import('./backups.ts')).addBackupCommands,
  rejects: async () => (await import('./registers.ts')).addRejectsCommand,
  operators: async () => (await import('./operators.ts')).addOperatorsCommands,
};

/** Adds the commands of the noun `first`, the first word after `padron`. Without a noun (as with --help), adds all. */
export async function addNouns(program: PadronCommand, context: CommandContext, first: string | undefined) {
  const asked = first === undefined ? undefined : nouns[first];
  for (const load of asked ? [asked] : Object.values(nouns)) (await load())(program, context);
}
