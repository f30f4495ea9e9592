import { Context } from '@temporalio/activity';
import type { Client } from '@temporalio/client';
import { z } from 'zod';
import type { RegisterName } from '../../schemas/registers.ts';
import { asActivity, type StepReports, type StepSubject } from './activity-errors.ts';
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

export interface PublicationParts extends FetchParts, CompareParts, EditionParts, ReconcileParts, StepReports {
  client: Client;
  beats: BeatLimits;
  /** Raw publications older than this many days go from the archive; null: never. */
  publicationDays: number | null;
}

/** The steps of `fetch`, `publish` and `reconcile`. Each can run again at any time: what is done already is found done. */
export function makePublicationActivities(parts: PublicationParts) {
  const signal = () => Context.current().cancellationSignal;
  const beat = (details?: unknown) => Context.current().heartbeat(details);
  const step = <Arguments extends unknown[], Result>(
    name: string,
    subject: StepSubject,
    run: (...args: Arguments) => Promise<Result>,
  ) => asActivity(name, subject, parts, run);
  type Ids = [register: RegisterName, id: number];

  return {
    probe: step('probe', 'register', (register: RegisterName) => probe(parts, register, signal())),
    fetchPublication: step('fetchPublication', 'publication', (...[register, id]: Ids) =>
      beating(parts.beats, (report, signal) => fetchPublication(parts, register, id, report, signal)),
    ),
    wakePublish: step('wakePublish', 'register', (register: RegisterName) => wakePublish(parts.client, register)),
    nextWork: step('nextWork', 'register', (register: RegisterName) => nextWork(parts, register)),
    // Where the archive is a bucket it may have to fetch the file first.
    verifyPublication: step('verifyPublication', 'publication', (...[register, id]: Ids) =>
      beating(parts.beats, () => verifyPublication(parts, register, id)),
    ),
    comparePublication: step('comparePublication', 'publication', (...[register, id]: Ids) =>
      beating(parts.beats, (report, signal) => comparePublication(parts, register, id, report, signal)),
    ),
    judgePublication: step('judgePublication', 'publication', (...[register, id]: Ids) =>
      judgePublication(parts, register, id),
    ),
    freezePublication: step('freezePublication', 'publication', (...[, id]: Ids) => freezePublication(parts, id)),
    compareCorrection: step('compareCorrection', 'correction', (...[register, id]: Ids) =>
      beating(parts.beats, (report, signal) => compareCorrection(parts, register, id, report, signal)),
    ),
    freezeCorrection: step('freezeCorrection', 'correction', (...[, id]: Ids) => freezeCorrection(parts, id)),
    publishEdition: step(
      'publishEdition',
      'edition',
      (register: RegisterName, edition: number, mode: 'once' | 'again') =>
        beating(parts.beats, (report, signal) =>
          publishEdition(parts, { register, edition, mode, ...acknowledgedBefore() }, report, signal),
        ),
    ),
    awaitMaterialised: step('awaitMaterialised', 'edition', (...[register, edition]: Ids) =>
      awaitMaterialised(parts, register, edition, beat, signal()),
    ),
    awaitNotified: step('awaitNotified', 'edition', (...[register, edition]: Ids) =>
      awaitNotified(parts, register, edition, beat, signal()),
    ),
    reconcileRegister: step('reconcileRegister', 'register', (register: RegisterName) =>
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
