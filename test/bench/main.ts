import { existsSync, readdirSync } from 'node:fs';

/**
 * `npm run bench -- <name> [options]` runs test/bench/<name>.ts, which exports `run(args)` and prints its own figures.
 */
interface Bench {
  run(args: string[]): Promise<void>;
}

const [name = '', ...args] = process.argv.slice(2);
const fileOf = (bench: string) => new URL(`./${bench}.ts`, import.meta.url);

if (/^[a-z-]+$/.test(name) && name !== 'main' && existsSync(fileOf(name))) {
  const bench = (await import(fileOf(name).href)) as Partial<Bench>;
  if (bench.run === undefined) throw new Error(`test/bench/${name}.ts is no bench: it exports no run()`);
  await bench.run(args);
} else {
  const files = readdirSync(new URL('./', import.meta.url)).filter((file) => /^[a-z-]+\.ts$/.test(file));
  console.error('usage: npm run bench -- <name> [options]');
  console.error(`files in test/bench: ${files.map((file) => file.slice(0, -3)).join(', ')}`);
  process.exitCode = 2;
}
