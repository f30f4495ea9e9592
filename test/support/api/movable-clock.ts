import { readFileSync } from 'node:fs';

// Loaded into a process before its own code: its clocks show the machine's time plus the offset in the file.

interface Shift {
  wallMs: number;
  monotonicMs: number;
}

const path = process.env.CLOCK_FILE!;
/** The file is read rarely, since clocks are read far more often than moved. */
const lookEveryMs = 20;

const machine = { wall: Date.now, monotonic: performance.now.bind(performance) };
let shift: Shift = { wallMs: 0, monotonicMs: 0 };
let lookAgainAtMs = 0;

function current(): Shift {
  const atMs = machine.monotonic();
  if (atMs < lookAgainAtMs) return shift;
  lookAgainAtMs = atMs + lookEveryMs;
  // The test renames a whole file over the old one, so a read is never partial.
  shift = JSON.parse(readFileSync(path, 'utf8')) as Shift;
  return shift;
}

const wallNow = () => machine.wall() + current().wallMs;

globalThis.Date = new Proxy(Date, {
  construct: (target, given, self) => Reflect.construct(target, given.length === 0 ? [wallNow()] : given, self),
  get: (target, name) => (name === 'now' ? wallNow : Reflect.get(target, name)),
});
performance.now = () => machine.monotonic() + current().monotonicMs;
