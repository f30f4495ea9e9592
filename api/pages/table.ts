import type { ApiDependencies } from '../dependencies.ts';
import { problemIndexPage, problemPage } from './errors.tsx';
import { makeHomePage } from './home.tsx';
import { anyone, type PageRow } from './page.ts';

export type PageDependencies = Pick<ApiDependencies, 'sandboxToken'>;

/** All pages of the public port. A page is one file beside this one and one line here. */
export function makePages(dependencies: PageDependencies): readonly PageRow[] {
  const fixed = { isFixed: true };
  return [
    anyone('/', makeHomePage(dependencies), fixed),
    anyone('/errores', problemIndexPage, fixed),
    anyone('/errores/{codigo}', problemPage, fixed),
  ];
}
