import { type OperationName, operations } from '../../operations.ts';
import { anyone, type PageRow } from '../page.ts';
import { canBeTried, type Documentation, readDocumentation } from './described.ts';
import { makeDocumentationPage } from './index.tsx';
import { makeOperationPage } from './operation.tsx';
import { makeTryPage, type TryDependencies } from './try.tsx';

/** The pages about the API: the list, and for each operation its page and its form. */
export function makeDocumentationPages(baseUrl: string, dependencies: TryDependencies): readonly PageRow[] {
  let read: Documentation | undefined;
  // Most processes never show these pages, so the document is made at the first request.
  const documentation = () => {
    read ??= readDocumentation(baseUrl);
    return read;
  };
  const names = Object.keys(operations) as OperationName[];
  return [
    anyone('/docs', makeDocumentationPage(documentation), { isFixed: true }),
    ...names.map((name) => anyone(`/docs/${name}`, makeOperationPage(name, documentation), { isFixed: true })),
    ...names
      .filter(canBeTried)
      .map((name) => anyone(`/docs/${name}/probar`, makeTryPage(name, documentation, dependencies))),
  ];
}
