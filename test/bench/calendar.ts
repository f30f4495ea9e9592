import { Agent, request } from 'undici';
import { toDate, toDayNumber } from '../../api/calendar/days.ts';
import { type CalendarApp, sandboxToken, startCalendarApp } from '../support/api/calendar-app.ts';
import { numberOption } from '../support/process/named-runs.ts';
import { describeMachine, formatSpread, type Spread, spreadOf } from './figures.ts';

/** The server's time for every route must not exceed this. */
const goalMs = 1;
const warmUpCalls = 200;

/** The path of the n-th call. Years and days change, so that no answer is cached from the previous call. */
type PathOf = (call: number) => string;

const dayOf = (call: number) => toDate(toDayNumber('2022-01-01') + (call % 2_000));
const routes: readonly (readonly [string, PathOf])[] = [
  ['calendario/feriados/{anio}', (call) => `calendario/feriados/${1995 + (call % 205)}`],
  ['calendario/{fecha}', (call) => `calendario/${dayOf(call)}?sector=publico`],
  ['calendario/plazo, 30 días', (call) => `calendario/plazo?desde=${dayOf(call)}&dias=30`],
  ['calendario/plazo, 1,000 días', (call) => `calendario/plazo?desde=${dayOf(call)}&dias=1000&sector=publico`],
  ['vencimientos/{anio}', (call) => `vencimientos/${2025 + (call % 3)}`],
  ['vencimientos/proximos', (call) => `vencimientos/proximos?digito=${call % 10}`],
  // A feed is made once per version, date and group, so the later calls measure the cached answer.
  ['vencimientos.ics, kept', (call) => `vencimientos.ics?digito=${call % 10}`],
  ['calendario/feriados.ics, kept', () => 'calendario/feriados.ics'],
];

/**
 * `--calls N` (2,000) per route, one after another, over HTTP, without engines. Exits with 1 if a median misses the
 * goal.
 */
export async function run(args: string[]): Promise<void> {
  const calls = numberOption(args, 'calls', 2_000);
  console.log(`machine: ${describeMachine()}`);
  console.log(`${calls} calls per route, one at a time (min / median / max in ms)`);
  const app = await startCalendarApp();
  const agent = new Agent({ connections: 1, pipelining: 1 });
  try {
    const medians: number[] = [];
    for (const [name, pathOf] of routes) {
      const { server, roundTrip } = await measure(app, agent, pathOf, calls);
      console.log(`  ${name.padEnd(30)} server ${formatSpread(server, 1)}   round trip ${formatSpread(roundTrip)}`);
      medians.push(server.median);
    }
    const worst = Math.max(...medians);
    console.log(
      `goal: median server time < ${goalMs} ms on every route: ${worst < goalMs ? 'met' : 'missed'} (${worst})`,
    );
    if (worst >= goalMs) process.exitCode = 1;
  } finally {
    await agent.close();
    await app.stop();
  }
}

/** Takes the server's time from its request log lines, which have a tenth of a millisecond. */
async function measure(
  app: CalendarApp,
  agent: Agent,
  pathOf: PathOf,
  calls: number,
): Promise<{ server: Spread; roundTrip: Spread }> {
  for (let call = 0; call < warmUpCalls; call += 1) await get(app, agent, pathOf(call));
  const linesBefore = app.logLines().length;
  const roundTrips: number[] = [];
  for (let call = 0; call < calls; call += 1) {
    const startedMs = performance.now();
    await get(app, agent, pathOf(call));
    roundTrips.push(performance.now() - startedMs);
  }
  const lines = app.logLines().slice(linesBefore).trimEnd().split('\n');
  const served = lines.map((line) => JSON.parse(line) as { msg: string; duration_ms: number });
  const durations = served.filter(({ msg }) => msg === 'request').map((line) => line.duration_ms);
  return { server: spreadOf(durations), roundTrip: spreadOf(roundTrips) };
}

async function get(app: CalendarApp, agent: Agent, path: string): Promise<void> {
  const headers = { authorization: `Bearer ${sandboxToken}` };
  const { statusCode, body } = await request(`${app.url}/id/v1/${path}`, { dispatcher: agent, headers });
  const text = await body.text();
  if (statusCode !== 200) throw new Error(`${path} answered ${statusCode}: ${text}`);
}
