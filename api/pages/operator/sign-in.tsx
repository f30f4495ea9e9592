import { z } from 'zod';
import type { OperatorDependencies } from '../../operators/dependencies.ts';
import {
  endOperatorSession,
  findOperatorSession,
  idleMinutes,
  longestHours,
  readLink,
  useLink,
} from '../../operators/sessions.ts';
import { Form } from '../fields.tsx';
import { form, type Page, type PageRequest, type Redirect } from '../page.ts';
import { Code, Link } from '../parts.tsx';
import { readCookie, type Site, writeCookie } from '../sessions/cookies.ts';

/** Where a new session begins. */
export const startPath = '/registros';

type Dependencies = Pick<OperatorDependencies, 'pool'> & { site: Site };

/** The path that leads to the identity provider, or null without one. */
type SignInDependencies = Dependencies & { providerPath: string | null };

const command = 'npx padron operators link --name "Ana Ruiz" --role decider';

/** `/`: says how to get in, or leads on who is in. */
export function makeOperatorSignInPage({ pool, site, providerPath }: SignInDependencies): Page<PageRequest> {
  return {
    done: {
      salida: 'La sesión terminó. Hasta pronto.',
      vencida: `La sesión terminó: pasaron ${idleMinutes} minutos sin uso o ${longestHours} horas, o alguien le quitó el acceso. Pida otro enlace.`,
    },
    async show({ context }) {
      const secret = readCookie(context, 'operator', site);
      if (secret !== null && (await findOperatorSession(pool, secret)) !== null) return { to: startPath };
      return { title: 'Entrar', body: <HowToEnter providerPath={providerPath} /> };
    },
  };
}

function HowToEnter({ providerPath }: Pick<SignInDependencies, 'providerPath'>) {
  return (
    <>
      <h1>Consola de operadores</h1>
      {providerPath !== null && (
        <>
          <p>
            <Link to={providerPath} class="button">
              Entrar con la cuenta de la organización
            </Link>
          </p>
          <h2>Sin el proveedor de identidad</h2>
        </>
      )}
      <p>
        Se entra con un enlace de un solo uso. Lo hace quien tiene acceso a la línea de órdenes, con el nombre de la
        persona y su rol: <code>viewer</code> ve todo, <code>decider</code> además decide.
      </p>
      <Code label="Orden que hace un enlace">{command}</Code>
      <p class="quiet">
        El enlace vence a los pocos minutos. La sesión termina tras {idleMinutes} minutos sin uso o a las {longestHours}{' '}
        horas.
      </p>
    </>
  );
}

/**
 * `/enlace/{secreto}`: only the button uses the link up. Scanners of mail and previews of chats follow links, and would
 * otherwise use it up before the person does.
 */
export function makeLinkPage({ pool, site }: Dependencies): Page<PageRequest> {
  return {
    forms: {
      entrar: form(z.strictObject({}), async (_, { context, params }: PageRequest) => {
        const cookie = await useLink(pool, params.secreto ?? '', context.get('User-Agent'));
        if (cookie === null) return unusable;
        const before = readCookie(context, 'operator', site);
        if (before !== null) await endOperatorSession(pool, before);
        // Every sign-in makes a new value, so one that somebody planted in the browser never becomes a session.
        writeCookie(context, 'operator', cookie, site);
        return { to: startPath };
      }),
    },
    async show({ params }) {
      const link = await readLink(pool, params.secreto ?? '');
      if (link === null) return unusable;
      return {
        title: 'Entrar',
        body: (
          <>
            <h1>Entrar como {link.name}</h1>
            <p>El enlace sirve una sola vez. Se gasta al pulsar el botón, no al abrir esta página.</p>
            <Form name="entrar">
              <button type="submit">Entrar</button>
            </Form>
          </>
        ),
      };
    },
  };
}

const unusable = {
  title: 'El enlace no sirve',
  status: 410,
  body: (
    <>
      <h1>El enlace no sirve</h1>
      <p>Ya se usó, venció o no está completo. Pida otro a quien tenga acceso a la línea de órdenes.</p>
      <p>
        <Link to="/">Cómo se entra</Link>
      </p>
    </>
  ),
};

/** `/salir`. The menu's button is sent here. */
export function makeOperatorSignOutPage({ pool, site }: Dependencies) {
  return {
    forms: {
      salir: form(z.strictObject({}), async (_, { context }: PageRequest): Promise<Redirect> => {
        const secret = readCookie(context, 'operator', site);
        if (secret !== null) await endOperatorSession(pool, secret);
        writeCookie(context, 'operator', null, site);
        return { to: '/?hecho=salida' };
      }),
    },
    show: () => ({
      title: 'Salir',
      body: (
        <>
          <h1>Salir de la consola</h1>
          <Form name="salir">
            <button type="submit">Salir</button>
          </Form>
        </>
      ),
    }),
  };
}
