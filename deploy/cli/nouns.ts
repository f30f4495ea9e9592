import type { Command } from 'commander';
import type { CommandContext } from './context.ts';

type RegisterCommands = (program: Command, context: CommandContext) => void;

/** Loaded only when asked for: the clients of Kafka and Temporal take a second to load, which `accounts` never uses. */
const nouns: Readonly<Record<string, () => Promise<RegisterCommands>>> = {
  migrate: async () => (await import('./migrate.ts')).registerMigrateCommand,
  accounts: async () => (await import('./accounts.ts')).registerAccountsCommands,
  contracts: async () => (await import('./contracts.ts')).registerContractsCommands,
  tokens: async () => (await import('./accounts.ts')).registerTokensCommands,
  registers: async () => (await import('./registers.ts')).registerRegistersCommand,
  publications: async () => (await import('./publications.ts')).registerPublicationsCommands,
  schemas: async () => (await import('./migrate.ts')).registerSchemasCommands,
  editions: async () => (await import('./editions.ts')).registerEditionsCommands,
  verify: async () => (await import('./verify.ts')).registerVerifyCommand,
  rebuild: async () => (await import('./verify.ts')).registerRebuildCommand,
  replay: async () => (await import('./replay.ts')).registerReplayCommand,
  deliveries: async () => (await import('./deliveries.ts')).registerDeliveriesCommands,
  calendar: async () => (await import('./calendar.ts')).registerCalendarCommands,
  rejects: async () => (await import('./registers.ts')).registerRejectsCommand,
};

/** The commands of the noun that stands first on the command line; of all nouns when it is none of them (--help, a typing error). */
export async function registerNouns(program: Command, context: CommandContext, first: string | undefined) {
  const asked = first === undefined ? undefined : nouns[first];
  for (const load of asked ? [asked] : Object.values(nouns)) (await load())(program, context);
}
