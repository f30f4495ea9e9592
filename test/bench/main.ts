import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { OptionError } from './figures.ts';

/**
 * `npm run bench -- <name> [options]` runs test/bench/<name>.ts, which exports `run(args)` and prints its own figures.
 * The comment above `run` is the bench's help. An option that it does not name is refused, because a bench takes minutes
 * and would measure something else.
 */
interface Bench {
  run(args: string[]): Promise<void>;
}

const [name = '', ...args] = process.argv.slice(2);
const folder = new URL('./', import.meta.url);
const help = helpOf(name);

if (help === null) {
  const benches = readdirSync(folder).flatMap((file) =>
    helpOf(file.slice(0, -3)) === null ? [] : [file.slice(0, -3)],
  );
  console.error(`usage: npm run bench -- <name> [options]\nbenches: ${benches.join(', ')}`);
  process.exitCode = 2;
} else if (args.includes('--help')) {
  console.log(help);
} else {
  try {
    checkOptions(help);
    const bench = (await import(new URL(`${name}.ts`, folder).href)) as Bench;
    await bench.run(args);
  } catch (error) {
    if (!(error instanceof OptionError)) throw error;
    console.error(`${error.message}\n\n${help}`);
    process.exitCode = 2;
  }
}

/** Returns null if there is no such bench. */
function helpOf(bench: string): string | null {
  const file = new URL(`${bench}.ts`, folder);
  if (!/^[a-z-]+$/.test(bench) || !existsSync(file)) return null;
  const comment = /\/\*\*((?:(?!\*\/).)*)\*\/\s*export async function run\(/s.exec(readFileSync(file, 'utf8'));
  if (comment === null) return null;
  return `npm run bench -- ${bench} [options]\n\n${comment[1]!.replace(/^\s*\* ?/gm, '').trim()}`;
}

/**
 * @throws OptionError for an option that the help does not name, for a word that belongs to no option, and for a value
 *   that is none of those that the help lists, as in `--only one|other`
 */
function checkOptions(text: string): void {
  const known = new Set(text.match(/--[a-z-]+/g));
  for (const [, option, values] of text.matchAll(/(--[a-z-]+)\s+([a-z0-9-]+(?:\|[a-z0-9-]+)+)/g)) {
    const value = args[args.indexOf(option!) + 1] ?? '';
    if (args.includes(option!) && !values!.split('|').includes(value))
      throw new OptionError(`${option} takes one of ${values!.replaceAll('|', ', ')}.`);
  }
  for (const [at, word] of args.entries()) {
    const isValue = !word.startsWith('--') && args[at - 1]?.startsWith('--') === true;
    if (!isValue && !known.has(word)) throw new OptionError(`${word} is no option of this bench.`);
  }
}
