import type { OperatorDependencies } from '../../operators/dependencies.ts';
import type { IdentityProvider } from '../../operators/identity-provider.ts';
import type { OperatorSession } from '../../operators/sessions.ts';
import { anyone, type PageRow, signedIn } from '../page.ts';
import type { Site } from '../sessions/cookies.ts';
import type { Face } from '../surroundings.ts';
import { makeAuditPage } from './audit.tsx';
import { makeChangesPage, makeEvidencePage } from './changes.tsx';
import { makeCustomerPage } from './customers/customer.tsx';
import { makeCustomersPage } from './customers/list.tsx';
import { makeBacklogPage } from './deliveries/backlog.tsx';
import { makeEndpointPage } from './deliveries/endpoint.tsx';
import { makeEditionPage } from './edition.tsx';
import { makeHistoryPage } from './history.tsx';
import { makeOperatorsPage } from './operators.tsx';
import { makeProviderPage, makeReturnPage, providerPath, returnPath } from './provider.tsx';
import { makeGatePage, makePublicationPage } from './publication.tsx';
import { makeRegisterPage } from './register.tsx';
import { makeRegistersPage } from './registers.tsx';
import { makeRejectsPage } from './rejects.tsx';
import { makeRevertPage } from './revert.tsx';
import { makeLinkPage, makeOperatorSignInPage, makeOperatorSignOutPage } from './sign-in.tsx';
import { makeVerificationsPage } from './verifications.tsx';

/** What stands around the pages of the operators' listener. */
export const operatorFace: Face = {
  title: 'Operadores',
  sections: [],
  menuName: 'Consola de operadores',
  signOutPath: '/salir',
};

/** Where somebody without a session is sent. */
export const operatorSignInPath = '/';

export type OperatorPageDependencies = OperatorDependencies & {
  /** How operators reach this console. */
  site: Site;
  /** Null when operators come in by links only. */
  provider: IdentityProvider | null;
};

/** All pages of the operators' listener. A page is one file in this folder and one line here. */
export function makeOperatorPages(dependencies: OperatorPageDependencies): readonly PageRow<OperatorSession>[] {
  const { provider } = dependencies;
  const throughProvider = provider && { ...dependencies, provider };
  return [
    anyone('/', makeOperatorSignInPage({ ...dependencies, providerPath: provider && providerPath })),
    ...(throughProvider === null
      ? []
      : [anyone(providerPath, makeProviderPage(throughProvider)), anyone(returnPath, makeReturnPage(throughProvider))]),
    anyone('/enlace/{secreto}', makeLinkPage(dependencies)),
    signedIn('/salir', makeOperatorSignOutPage(dependencies)),
    signedIn('/registros', makeRegistersPage(dependencies), { menu: 'Registros' }),
    signedIn('/registros/{registro}', makeRegisterPage(dependencies)),
    signedIn('/registros/{registro}/historia', makeHistoryPage(dependencies)),
    signedIn('/publicaciones/{id}', makePublicationPage(dependencies)),
    signedIn('/publicaciones/{id}/controles/{control}', makeGatePage(dependencies)),
    signedIn('/publicaciones/{id}/rechazos', makeRejectsPage(dependencies)),
    signedIn('/ediciones/{registro}/{numero}', makeEditionPage(dependencies)),
    signedIn('/ediciones/{registro}/{numero}/cambios', makeChangesPage(dependencies)),
    signedIn('/ediciones/{registro}/{numero}/cambios/{ruc}', makeEvidencePage(dependencies)),
    signedIn('/ediciones/{registro}/{numero}/deshacer', makeRevertPage(dependencies)),
    signedIn('/verificaciones', makeVerificationsPage(dependencies), { menu: 'Verificaciones' }),
    signedIn('/entregas', makeBacklogPage(dependencies), { menu: 'Entregas' }),
    signedIn('/entregas/{webhook}', makeEndpointPage(dependencies)),
    signedIn('/clientes', makeCustomersPage(dependencies), { menu: 'Clientes' }),
    signedIn('/clientes/{id}', makeCustomerPage(dependencies)),
    signedIn('/auditoria', makeAuditPage(dependencies), { menu: 'Auditoría' }),
    signedIn('/operadores', makeOperatorsPage(dependencies), { menu: 'Operadores' }),
  ];
}
