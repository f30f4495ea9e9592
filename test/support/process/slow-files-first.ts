import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * The files that take longest, in this order. Vitest starts large files first, so a small one of these would begin last
 * and then run alone while the other core is idle.
 */
const slow = [
  'publication/restored.test.ts',
  'local/stack.test.ts',
  'publication/publication.test.ts',
  'runtime/migration-kills.test.ts',
  'cli/migrate.test.ts',
  'publication/bad-input.test.ts',
  'stream/produce.test.ts',
  'consumers/ledger.test.ts',
  'cli/replay-output.test.ts',
  'replay/replay.test.ts',
  'api/search-spellings.test.ts',
  'api/batch-cut.test.ts',
  'replay/names.test.ts',
  'metering/processes.test.ts',
  'e2e/api-schemathesis.test.ts',
  'local/product.test.ts',
  'delivery/rounds.test.ts',
  'delivery/faults.test.ts',
  'consumers/process.test.ts',
  'chaos/publication.test.ts',
  'chaos/delivery.test.ts',
];

const placeOf = ({ moduleId }: TestSpecification) => {
  const place = slow.findIndex((name) => moduleId.endsWith(name));
  return place < 0 ? slow.length : place;
};

/** Vitest's own order, with the slow files before the others of their project. */
export class SlowFilesFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return (await super.sort(files)).toSorted((one, other) => placeOf(one) - placeOf(other));
  }
}
