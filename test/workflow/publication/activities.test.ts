import { ApplicationFailure } from '@temporalio/activity';
import { MockActivityEnvironment } from '@temporalio/testing';
import { DefaultLogger } from '@temporalio/worker';
import { expect, it } from 'vitest';
import { ArchiveError, notFound } from '../../../pipelines/archive/archive.ts';
import { makeLogger } from '../../../pipelines/runtime/log.ts';
import type { Pool } from '../../../pipelines/runtime/postgres.ts';
import { makePublicationActivities, type PublicationDependencies } from '../../../workflows/publication/activities.ts';

const register = 'padron_reducido';
const quiet = new DefaultLogger('ERROR', () => {});
const name = { register, kind: 'changes', sha256: 'ab'.repeat(32) } as const;

/** The steps of an edition that is frozen and whose change file the archive cannot give. */
function activitiesWhere(produce: () => Promise<void>) {
  const pool = { query: async () => ({ rows: [{ publicada_at: null }] }) } as unknown as Pool;
  return makePublicationActivities({
    pool,
    produce,
    heartbeats: { heartbeatEveryMs: 1_000, maxStallMs: 10_000 },
    observe: () => {},
    log: makeLogger('test', 'fatal'),
  } as unknown as PublicationDependencies);
}

it.each([
  ['lost', notFound(name)],
  ['damaged', new ArchiveError('hash_mismatch', `${register}/changes/${name.sha256} in the archive is damaged`)],
])('an edition whose change file is %s waits for it, without failing its workflow', async (_what, error) => {
  const { publishEdition } = activitiesWhere(() => Promise.reject(error));
  const failure = await new MockActivityEnvironment({}, { logger: quiet })
    .run(() => publishEdition(register, 7, 'once'))
    .catch((caught: unknown) => caught);
  expect(failure).toBeInstanceOf(ApplicationFailure);
  expect(failure).toMatchObject({ nonRetryable: false, nextRetryDelay: '10 minutes', type: error.code });
  expect((failure as Error).message).toMatch(`${error.message}; bring the right file back`);
});

it('another error that no retry mends ends the step at once', async () => {
  const { publishEdition } = activitiesWhere(() => Promise.reject(new ArchiveError('refused', 'no bucket')));
  const failure = await new MockActivityEnvironment({}, { logger: quiet })
    .run(() => publishEdition(register, 7, 'once'))
    .catch((caught: unknown) => caught);
  expect(failure).toMatchObject({ nonRetryable: true, type: 'refused' });
});
