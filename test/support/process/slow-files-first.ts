import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Small files whose tests wait for much work. Vitest starts large files first, so these would run alone at the end. */
const slow = ['test/e2e/api-schemathesis.test.ts', 'test/chaos/publication.test.ts', 'test/chaos/delivery.test.ts'];

/** Vitest's own order, with the slow files before the others of their project. */
export class SlowFilesFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const isSlow = ({ moduleId }: TestSpecification) => slow.some((name) => moduleId.endsWith(name));
    return [...sorted.filter(isSlow), ...sorted.filter((file) => !isSlow(file))];
  }
}
