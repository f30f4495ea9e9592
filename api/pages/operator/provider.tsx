import { randomBytes } from 'node:crypto';
import type { OperatorDependencies } from '../../operators/dependencies.ts';
import { type IdentityProvider, SignInRefused } from '../../operators/identity-provider.ts';
import { endOperatorSession, signInAs } from '../../operators/sessions.ts';
import type { Page, PageRequest, View } from '../page.ts';
import { Link } from '../parts.tsx';
import { readCookie, type Site, writeCookie } from '../sessions/cookies.ts';
import { startPath } from './sign-in.tsx';

type Dependencies = Pick<OperatorDependencies, 'pool' | 'log'> & { site: Site; provider: IdentityProvider };

export const providerPath = '/proveedor';
export const returnPath = '/proveedor/vuelta';

/** The provider must know this address as one of ours. */
function returnAddress({ origin }: PageRequest): string {
  return `${origin}${returnPath}`;
}

/** `/proveedor`: leads to the identity provider. A link, since a form's answer may not lead to another site (CSP). */
export function makeProviderPage({ site, provider, log }: Dependencies): Page<PageRequest> {
  return {
    async show(request) {
      const secret = randomBytes(32).toString('base64url');
      try {
        const outside = await provider.address(secret, returnAddress(request));
        writeCookie(request.context, 'operatorSignIn', secret, site);
        return { outside };
      } catch (error) {
        return refused(error, { provider, log });
      }
    },
  };
}

/** `/proveedor/vuelta`: where the provider sends the browser back. */
export function makeReturnPage({ pool, site, provider, log }: Dependencies): Page<PageRequest> {
  return {
    async show(request) {
      const { context } = request;
      const secret = readCookie(context, 'operatorSignIn', site);
      // One sign-in has one answer. A repeat of this address does nothing.
      writeCookie(context, 'operatorSignIn', null, site);
      if (secret === null) return problem(400, texts.not_valid);
      let signedIn: Awaited<ReturnType<typeof signInAs>>;
      try {
        const cameBackTo = new URL(`${returnAddress(request)}${context.search}`);
        const identity = await provider.identify(secret, cameBackTo);
        signedIn = await signInAs(pool, identity, context.get('User-Agent'));
      } catch (error) {
        return refused(error, { provider, log });
      }
      if (typeof signedIn === 'string') return problem(403, texts[signedIn]);
      const before = readCookie(context, 'operator', site);
      if (before !== null) await endOperatorSession(pool, before);
      writeCookie(context, 'operator', signedIn.cookie, site);
      return { to: startPath };
    },
  };
}

const texts = {
  provider_away: 'El proveedor de identidad no responde. Pruebe en un momento, o entre con un enlace.',
  declined: 'El proveedor de identidad no lo dejó entrar, o usted canceló.',
  not_valid: 'Esta vuelta no corresponde a una entrada que empezó en este navegador. Empiece de nuevo.',
  revoked: 'Alguien le quitó el acceso. Quien tenga acceso a la línea de órdenes se lo devuelve con un enlace.',
  name_taken: 'Otro operador ya tiene su nombre. Avise a quien tenga acceso a la línea de órdenes.',
} as const;

const statuses = { provider_away: 503, declined: 403, not_valid: 400, no_group: 403 } as const;

function refused(error: unknown, { provider, log }: Pick<Dependencies, 'provider' | 'log'>): View {
  if (!(error instanceof SignInRefused)) throw error;
  const { code, message } = error;
  log.warn({ code, reason: message }, 'a sign-in through the identity provider was refused');
  const groups = provider.groups.join(' ni ');
  const text = code === 'no_group' ? `Su cuenta no está en el grupo ${groups}. Pida que la agreguen.` : texts[code];
  return problem(statuses[code], text);
}

function problem(status: number, text: string): View {
  return {
    title: 'No se pudo entrar',
    status,
    body: (
      <>
        <h1>No se pudo entrar</h1>
        <p>{text}</p>
        <p>
          <Link to="/">Cómo se entra</Link>
        </p>
      </>
    ),
  };
}
