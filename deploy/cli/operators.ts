import { Option } from 'commander';
import { listActs, type RecordedAct } from '../../api/operators/audit.ts';
import { operatorAddress, operatorBlock } from '../../api/operators/config.ts';
import {
  listOperators,
  makeLink,
  type OperatorRole,
  operatorRoles,
  revokeOperator,
} from '../../api/operators/operators.ts';
import { filled, type PadronCommand, wholeNumber } from './arguments.ts';
import { type CommandContext, CommandError, type OutputOptions } from './context.ts';

/** A link that is used at once needs no long life. A day is the longest. */
const defaultMinutes = 15;
const maxMinutes = 24 * 60;

interface LinkOptions extends OutputOptions {
  name: string;
  role?: OperatorRole;
  minutes: number;
  by?: string;
}

/** `padron operators link|list|revoke|audit`. */
export function addOperatorsCommands(program: PadronCommand, context: CommandContext): void {
  const operators = program
    .command('operators')
    .description("People who use the operators' console, and what operators did.")
    .examples('operators link --name "Ana Ruiz" --role decider');

  operators
    .command('link')
    .description(
      "Makes a link that opens one session of the operators' console. Whoever has it gets in: hand it over safely.",
    )
    .requiredOption('--name <name>', 'the person, under whose name acts are recorded; new or known')
    .addOption(
      new Option('--role <role>', 'viewer looks, decider also acts (default: as before)').choices(operatorRoles),
    )
    .option('--minutes <count>', 'how long the link can be used', wholeNumber, defaultMinutes)
    .option('--by <name>', 'who gives access; kept in the audit')
    .examples('operators link --name "Ana Ruiz" --role decider', 'operators link --name "Ana Ruiz" --json')
    .action(async (options: LinkOptions) => {
      const address = operatorAddress(context.configuration(operatorBlock));
      if (options.minutes > maxMinutes)
        throw new CommandError(`A link cannot be used for ${options.minutes} minutes.`, `At most ${maxMinutes}.`);
      const wanted = { name: filled(options.name, '--name'), role: options.role ?? null, minutes: options.minutes };
      const { operator, secret, expiresAt } = await makeLink(context.pool(), context.actor(options.by), wanted);
      const url = `${address ?? ''}/enlace/${secret}`;
      if (address === null && !options.json)
        context.note('Put the address of the console before it, or set OPERATOR_BASE_URL.');
      context.show(options, { url, name: operator.name, role: operator.role, expires_at: expiresAt }, [
        url,
        `For ${operator.name} (${operator.role}), once, until ${expiresAt.toISOString()}. It is not shown again.`,
      ]);
    });

  operators
    .command('list')
    .description('Operators by name, also those whose access ended.')
    .examples('operators list')
    .action(async (options: OutputOptions) => {
      const line = ({ name, role, revoked_at }: Awaited<ReturnType<typeof listOperators>>[number]) =>
        `${name}\t${role}${revoked_at === null ? '' : `\trevoked ${revoked_at.toISOString()}`}`;
      context.showRows(options, await listOperators(context.pool()), line, 'No operators.');
    });

  operators
    .command('revoke')
    .description("Ends an operator's access: all sessions and links at once.")
    .argument('<name>', 'the person, as `padron operators list` shows the name')
    .option('--by <name>', 'who ends it; kept in the audit')
    .option('--reason <text>', 'why; kept in the audit')
    .examples('operators revoke "Ana Ruiz" --reason "left the team"')
    .action(async (name: string, options: OutputOptions & { by?: string; reason?: string }) => {
      const isKnown = await revokeOperator(context.pool(), context.actor(options.by), name, options.reason ?? null);
      if (!isKnown) throw new CommandError('There is no such operator.', 'See them with: npx padron operators list');
      context.show(options, { name, revoked: true }, `${name} has no access.`);
    });

  addAuditCommand(operators, context);
}

function addAuditCommand(operators: PadronCommand, context: CommandContext): void {
  operators
    .command('audit')
    .description('What operators did, newest first: in the console and by this command.')
    .option('--subject <text>', 'about this only, for example "publication 7"')
    .limitOption(50)
    .examples('operators audit', 'operators audit --subject "publication 7" --json')
    .action(async (options: OutputOptions & { subject?: string; limit: number }) => {
      const rows = await listActs(context.pool(), { subject: options.subject ?? null, before: null }, options.limit);
      context.showRows(options, rows, actLine, 'No acts.');
    });
}

function actLine({ at, who, way, act, subject, reason }: RecordedAct): string {
  return [at.toISOString(), who, way, act, subject, reason ?? ''].join('\t').trimEnd();
}
