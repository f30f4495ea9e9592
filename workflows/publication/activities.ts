import { Context } from '@temporalio/activity';
import type { Client } from '@temporalio/client';
import { z } from 'zod';
import type { Logger } from '../../deploy/runtime/log.ts';
import type { RegisterName } from '../../schemas/registers.ts';
import { asActivity } from './activity-errors.ts';
import { type BeatLimits, beating } from './beating.ts';
import { comparePublication } from './compare-step.ts';
import type { CompareParts } from './comparing.ts';
import { compareCorrection, freezeCorrection } from './correction-steps.ts';
import {
  awaitMaterialised,
  awaitNotified,
  type EditionParts,
  type PublishEditionInput,
  publishEdition,
} from './edition-steps.ts';
import { type FetchParts, fetchPublication } from './fetch-steps.ts';
import { probe } from './probe-step.ts';
import { freezePublication, judgePublication, nextWork, verifyPublication } from './publish-steps.ts';
import { type ReconcileParts, reconcileRegister } from './reconcile-step.ts';
import { wakePublish } from './wake.ts';

export interface PublicationParts extends FetchParts, CompareParts, EditionParts, ReconcileParts {
  client: Client;
  log: Logger;
  beats: BeatLimits;
  /** Raw publications older than this many days go from the archive; null: never. */
  publicationDays: number | null;
  /** Seconds and outcome (done, failed, cancelled) of each run of a step. */
  observe(step: string, outcome: string, seconds: number): void;
}

/** The steps of `fetch`, `publish` and `reconcile`. Each can run again at any time: what is done already is found done. */
export function makePublicationActivities(parts: PublicationParts) {
  const signal = () => Context.current().cancellationSignal;
  const beat = (details?: unknown) => Context.current().heartbeat(details);
  const step = <Arguments extends unknown[], Result>(name: string, run: (...args: Arguments) => Promise<Result>) =>
    asActivity(name, parts.log, parts.observe, run);
  type Ids = [register: RegisterName, id: number];

  return {
    probe: step('probe', (register: RegisterName) => probe(parts, register, signal())),
    fetchPublication: step('fetchPublication', (...[register, id]: Ids) =>
      beating(parts.beats, (report, signal) => fetchPublication(parts, register, id, report, signal)),
    ),
    wakePublish: step('wakePublish', (register: RegisterName) => wakePublish(parts.client, register)),
    nextWork: step('nextWork', (register: RegisterName) => nextWork(parts, register)),
    // Where the archive is a bucket it may have to fetch the file first.
    verifyPublication: step('verifyPublication', (...[register, id]: Ids) =>
      beating(parts.beats, () => verifyPublication(parts, register, id)),
    ),
    comparePublication: step('comparePublication', (...[register, id]: Ids) =>
      beating(parts.beats, (report, signal) => comparePublication(parts, register, id, report, signal)),
    ),
    judgePublication: step('judgePublication', (...[register, id]: Ids) => judgePublication(parts, register, id)),
    freezePublication: step('freezePublication', (...[, id]: Ids) => freezePublication(parts, id)),
    compareCorrection: step('compareCorrection', (...[register, id]: Ids) =>
      beating(parts.beats, (report, signal) => compareCorrection(parts, register, id, report, signal)),
    ),
    freezeCorrection: step('freezeCorrection', (...[, id]: Ids) => freezeCorrection(parts, id)),
    publishEdition: step('publishEdition', (register: RegisterName, edition: number, mode: 'once' | 'again') =>
      beating(parts.beats, (report, signal) =>
        publishEdition(parts, { register, edition, mode, ...acknowledgedBefore() }, report, signal),
      ),
    ),
    awaitMaterialised: step('awaitMaterialised', (...[register, edition]: Ids) =>
      awaitMaterialised(parts, register, edition, beat, signal()),
    ),
    awaitNotified: step('awaitNotified', (...[register, edition]: Ids) =>
      awaitNotified(parts, register, edition, beat, signal()),
    ),
    reconcileRegister: step('reconcileRegister', (register: RegisterName) =>
      beating(parts.beats, (report, signal) => reconcileRegister(parts, register, report, signal)),
    ),
  };
}

/** The last heartbeat of an earlier attempt of this step says what Kafka had acknowledged. */
const count = z.number().int().nonnegative();
const publishProgress = z.object({ acknowledgedBlocks: count, logEnds: z.array(count) });

function acknowledgedBefore(): Pick<PublishEditionInput, 'acknowledged'> {
  const acknowledged = publishProgress.safeParse(Context.current().info.heartbeatDetails).data;
  return acknowledged === undefined ? {} : { acknowledged };
}

export type PublicationActivities = ReturnType<typeof makePublicationActivities>;
