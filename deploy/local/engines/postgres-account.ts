import { spawnSync } from 'node:child_process';
import { findProgram, MissingPrerequisiteError } from '../prerequisites.ts';

/** Whose rights PostgreSQL runs with. */
export interface Account {
  uid?: number;
  gid?: number;
  /** Options for `setpriv`. */
  privileges: readonly string[];
  /** What to put before a command to run it with these rights. */
  prefix: readonly string[];
}

/**
 * PostgreSQL refuses to run as root, so root (in a container, usually) lends it the account `postgres` if there is one,
 * else `nobody`; no account is made. Where that account cannot reach the folders, as below /root, it also gets the right
 * to pass them by.
 */
export function postgresAccount(searchPath: string, program: string, directory: string): Account {
  if (process.getuid?.() !== 0) return { privileges: [], prefix: [] };
  const setpriv = findProgram(searchPath, 'setpriv');
  const name = ['postgres', 'nobody'].find((account) => numberOf(account, '-u') !== undefined);
  const uid = name === undefined ? undefined : numberOf(name, '-u');
  const gid = name === undefined ? undefined : numberOf(name, '-g');
  if (!setpriv || uid === undefined || gid === undefined) {
    throw new MissingPrerequisiteError(
      'PostgreSQL does not run as root, and `setpriv` (package util-linux) or an account `nobody` is missing. ' +
        'Start as another user, or set DATABASE_URL to one that already runs.',
    );
  }
  const plain = [`--reuid=${uid}`, `--regid=${gid}`, '--clear-groups'];
  // access(2) looks at the real user's rights, and only this bit makes it count capabilities for another user than root
  const passing = ['--securebits=+no_setuid_fixup', '--inh-caps=+dac_override', '--ambient-caps=+dac_override'];
  const reaches = (file: string, kind: string) => spawnSync(setpriv, [...plain, '--', 'test', kind, file]).status === 0;
  const privileges = reaches(program, '-x') && reaches(directory, '-x') ? plain : [...plain, ...passing];
  return { uid, gid, privileges, prefix: [setpriv, ...privileges, '--'] };
}

function numberOf(account: string, kind: '-u' | '-g'): number | undefined {
  const { status, stdout } = spawnSync('id', [kind, account], { encoding: 'utf8' });
  return status === 0 ? Number(stdout) : undefined;
}
