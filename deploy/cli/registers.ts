import type { Command } from 'commander';
import { type RegisterFreshness, readFreshness } from '../../pipelines/editions/freshness.ts';
import type { CommandContext, OutputOptions } from './context.ts';

/** `padron registers`: how fresh everything is, and what waits for whom. */
export function registerRegistersCommand(program: Command, context: CommandContext): void {
  program
    .command('registers')
    .description(
      'All registers at a glance: edition, date of the data, last probe, what is late, paused or in quarantine.',
    )
    .option('--json', 'one JSON document on standard output')
    .addHelpText(
      'after',
      `
"asked" is when the official site last answered; "checked" is the last comparison of the state with the archive.

Examples:
  $ npx padron registers
  $ npx padron registers --json`,
    )
    .action(async (options: OutputOptions) => {
      const now = new Date();
      const rows = await readFreshness(context.pool(), now);
      context.show(options, rows, linesOf(rows, now, context));
    });
}

const titles = ['register', 'edition', 'data of', 'age', 'rows', 'asked', 'last publication', 'checked', 'state'];

function linesOf(registers: readonly RegisterFreshness[], now: Date, { colours }: CommandContext): string[] {
  const cells = [titles, ...registers.map((register) => cellsOf(register, now))];
  const widths = titles.map((_, column) => Math.max(...cells.map((row) => row[column]!.length)));
  const lines = cells.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column]!))
      .join('  ')
      .trimEnd(),
  );
  const [title, ...rest] = lines;
  return [colours.bold(title!), ...rest.flatMap((line, index) => [line, ...remarksOf(registers[index]!)])];
}

function cellsOf(register: RegisterFreshness, now: Date): string[] {
  const { last_publication: publication, last_reconciliation: checked } = register;
  return [
    register.register,
    register.edition === 0 ? '-' : String(register.edition),
    register.fecha_dato ?? '-',
    ago(register.published_at, now),
    register.rows?.toLocaleString('en') ?? '-',
    ago(register.probed_at, now),
    publication === null ? '-' : `#${publication.id} ${publication.state}`,
    checked === null ? '-' : `${checked.equal ? 'equal' : 'DIFFERS'} ${ago(new Date(checked.checked_at), now)}`,
    stateOf(register),
  ];
}

function stateOf({ edition, late, paused_at, quarantined, on_its_way }: RegisterFreshness): string {
  const states = [
    ...(paused_at === null ? [] : ['paused']),
    ...(late.length === 0 ? [] : [edition === 0 ? 'not loaded' : 'late']),
    ...(quarantined === 0 ? [] : [`${quarantined} in quarantine`]),
    ...(on_its_way === null ? [] : [`edition ${on_its_way} on its way`]),
  ];
  return states.length === 0 ? 'fresh' : states.join(', ');
}

/** Why, and what to do next. */
function remarksOf(row: RegisterFreshness): string[] {
  const { register, late, paused_at, paused_by, paused_reason, quarantined, last_reconciliation: checked } = row;
  const remarks: string[] = [];
  if (paused_at !== null) remarks.push(`paused by ${paused_by}${paused_reason === null ? '' : `: ${paused_reason}`}`);
  if (late.length > 0) remarks.push(`late: ${late.join('; ')}`);
  if (quarantined > 0) remarks.push(`npx padron publications list --register ${register} --state en_cuarentena`);
  if (checked !== null && !checked.equal) {
    remarks.push(`${checked.differences} differences from the archive: npx padron verify --register ${register}`);
  }
  return remarks.map((remark) => `  ${remark}`);
}

/** How long ago, in the largest unit that says something. */
function ago(time: Date | null, now: Date): string {
  if (time === null) return '-';
  const minutes = Math.max(0, Math.floor((now.getTime() - time.getTime()) / 60_000));
  if (minutes < 120) return `${minutes} min`;
  return minutes < 72 * 60 ? `${Math.floor(minutes / 60)} h` : `${Math.floor(minutes / 1440)} days`;
}
