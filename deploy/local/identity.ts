import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';

/** A process, named so that another one which later gets the same number is not mistaken for it. */
export interface ProcessIdentity {
  pid: number;
  /** Boot and clock tick of its start (Linux) or `ps`'s start time; only ever compared for equality. */
  startedAt: string;
}

interface ProcessRow {
  pid: number;
  parent: number;
  startedAt: string;
}

/** The process that has this number now, or undefined when none has (a zombie counts as none). */
export function identify(pid: number): ProcessIdentity | undefined {
  const row = process.platform === 'linux' ? rowFromProc(pid) : rowsFromPs(['-p', String(pid)])[0];
  return row && { pid, startedAt: row.startedAt };
}

export function isAlive(identity: ProcessIdentity): boolean {
  return identify(identity.pid)?.startedAt === identity.startedAt;
}

/** Children, their children, and so on, of a living process. Ask before killing it: orphans lose their parent's number. */
export function descendantsOf(pid: number): ProcessIdentity[] {
  const rows = process.platform === 'linux' ? rowsFromProc() : rowsFromPs(['-ax']);
  const found: ProcessRow[] = [];
  let parents = new Set([pid]);
  while (parents.size > 0) {
    const children = rows.filter((row) => parents.has(row.parent));
    found.push(...children);
    parents = new Set(children.map((row) => row.pid));
  }
  return found.map(({ pid: child, startedAt }) => ({ pid: child, startedAt }));
}

/** Sends the signal only if the process is still the one that was meant. */
export function signalProcess(identity: ProcessIdentity, signal: NodeJS.Signals): void {
  if (!isAlive(identity)) return;
  try {
    process.kill(identity.pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error; // it ended between the two lines
  }
}

let bootId: string | undefined;

function rowFromProc(pid: number): ProcessRow | undefined {
  let stat: string;
  try {
    stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    bootId ??= readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim();
  } catch {
    return undefined;
  }
  // "pid (name) state parent …": the name may hold spaces and brackets, so count from the last bracket.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  if (fields[0] === 'Z' || fields[0] === 'X') return undefined;
  return { pid, parent: Number(fields[1]), startedAt: `${bootId}:${fields[19]}` };
}

function rowsFromProc(): ProcessRow[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((name) => rowFromProc(Number(name)))
    .filter((row) => row !== undefined);
}

function rowsFromPs(selection: string[]): ProcessRow[] {
  const { stdout } = spawnSync('ps', [...selection, '-o', 'pid=,ppid=,stat=,lstart='], { encoding: 'utf8' });
  return (stdout ?? '')
    .split('\n')
    .map((line) => /^\s*(\d+)\s+(\d+)\s+(\S+)\s+(.+?)\s*$/.exec(line))
    .filter((match) => match !== null)
    .filter((match) => !match[3]!.startsWith('Z'))
    .map((match) => ({ pid: Number(match[1]), parent: Number(match[2]), startedAt: match[4]! }));
}
