import type { ApiDependencies } from '../dependencies.ts';
import { makeDeadlinePage } from './anyone/deadline.tsx';
import { makeDueDatesPage } from './anyone/due-dates.tsx';
import { makeHolidaysPage } from './anyone/holidays.tsx';
import { makeRegisterStatusPage } from './anyone/register-status.tsx';
import { makeStatusPage } from './anyone/status.tsx';
import { makeConsolePages } from './console/pages.ts';
import { makeSignInPage } from './console/sign-in.tsx';
import type { Ask } from './docs/ask.ts';
import { makeDocumentationPages } from './docs/pages.ts';
import { problemIndexPage, problemPage } from './errors.tsx';
import { makeHomePage } from './home.tsx';
import { anyone, type PageRow } from './page.ts';
import type { Site } from './sessions/cookies.ts';

export type PageDependencies = ApiDependencies & {
  site: Site;
  ask: Ask;
};

/** Where somebody without a session is sent. */
export const signInPath = '/consola';

/** All pages of the public port. A page is one file in this folder and one line here. */
export function makePages(dependencies: PageDependencies): readonly PageRow[] {
  const fixed = { isFixed: true };
  return [
    anyone('/', makeHomePage(dependencies), fixed),
    anyone('/estado', makeStatusPage(dependencies)),
    anyone('/estado/{registro}', makeRegisterStatusPage(dependencies)),
    anyone('/calendario', makeDueDatesPage(dependencies)),
    anyone('/calendario/plazo', makeDeadlinePage(dependencies)),
    anyone('/calendario/feriados', makeHolidaysPage(dependencies)),
    anyone('/errores', problemIndexPage, fixed),
    anyone('/errores/{codigo}', problemPage, fixed),
    ...makeDocumentationPages(dependencies.site.baseUrl, dependencies),
    anyone(signInPath, makeSignInPage(dependencies)),
    ...makeConsolePages(dependencies),
  ];
}
