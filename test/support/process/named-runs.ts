import { existsSync, readdirSync, readFileSync } from 'node:fs';

/** An option that a run cannot take. The message is printed with the run's help. */
export class OptionError extends Error {
  override name = 'OptionError';
}

/** The number given as `--name N`, or the default. @throws OptionError when it is no number from `least` on */
export function numberOption(args: readonly string[], name: string, otherwise: number, least = 1): number {
  const at = args.indexOf(`--${name}`);
  const value = at < 0 ? otherwise : Number(args[at + 1]);
  if (!Number.isInteger(value) || value < least)
    throw new OptionError(`--${name} takes a whole number from ${least} on.`);
  return value;
}

interface NamedRun {
  run(args: string[]): Promise<void>;
}

/**
 * Runs `npm run <command> -- <name> [options]`: the file <name>.ts of a folder, which exports `run(args)` and prints its
 * own results. The comment above `run` is its help. An option that it does not name is refused, because a run takes
 * minutes and would do something else.
 */
export async function runNamed(command: string, folder: URL): Promise<void> {
  const [name = '', ...args] = process.argv.slice(2);
  const help = helpOf(command, folder, name);
  if (help === null) {
    const names = readdirSync(folder)
      .map((file) => file.replace(/\.ts$/, ''))
      .filter((each) => helpOf(command, folder, each) !== null);
    console.error(`usage: npm run ${command} -- <name> [options]\nnames: ${names.join(', ')}`);
    process.exitCode = 2;
    return;
  }
  if (args.includes('--help')) return console.log(help);
  try {
    checkOptions(args, help);
    await ((await import(new URL(`${name}.ts`, folder).href)) as NamedRun).run(args);
  } catch (error) {
    if (!(error instanceof OptionError)) throw error;
    console.error(`${error.message}\n\n${help}`);
    process.exitCode = 2;
  }
}

/** Returns null if there is no such run. */
function helpOf(command: string, folder: URL, name: string): string | null {
  const file = new URL(`${name}.ts`, folder);
  if (!/^[a-z-]+$/.test(name) || !existsSync(file)) return null;
  const comment = /\/\*\*((?:(?!\*\/).)*)\*\/\s*export async function run\(/s.exec(readFileSync(file, 'utf8'));
  if (comment === null) return null;
  return `npm run ${command} -- ${name} [options]\n\n${comment[1]!.replace(/^\s*\* ?/gm, '').trim()}`;
}

/**
 * @throws OptionError for an option that the help does not name, for a word that belongs to no option, and for a value
 *   that is none of those that the help lists, as in `--only one|other`
 */
function checkOptions(args: readonly string[], help: string): void {
  const known = new Set(help.match(/--[a-z-]+/g));
  for (const [, option, values] of help.matchAll(/(--[a-z-]+)\s+([a-z0-9-]+(?:\|[a-z0-9-]+)+)/g)) {
    const value = args[args.indexOf(option!) + 1] ?? '';
    if (args.includes(option!) && !values!.split('|').includes(value))
      throw new OptionError(`${option} takes one of ${values!.replaceAll('|', ', ')}.`);
  }
  for (const [at, word] of args.entries()) {
    const isValue = !word.startsWith('--') && args[at - 1]?.startsWith('--') === true;
    if (!isValue && !known.has(word)) throw new OptionError(`${word} is no option of this run.`);
  }
}
