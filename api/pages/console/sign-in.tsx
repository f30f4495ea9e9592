import { z } from 'zod';
import type { Caller } from '../../accounts/callers.ts';
import type { ApiDependencies } from '../../dependencies.ts';
import { addressSubject } from '../../metering/minute-limits.ts';
import { ApiProblem, fieldProblem } from '../../problems.ts';
import type { ApiContext } from '../../request.ts';
import { Form, TextField } from '../fields.tsx';
import {
  type AccountRequest,
  accountPageWithQuery,
  form,
  type Page,
  type PageRequest,
  type Redirect,
  withQuery,
} from '../page.ts';
import { Link } from '../parts.tsx';
import { readCookie, type Site, writeCookie } from '../sessions/cookies.ts';
import {
  confirmedMinutes,
  confirmSession,
  endSessionOf,
  findSession,
  idleMinutes,
  longestHours,
  maxNameLength,
  startSession,
} from '../sessions/sessions.ts';

/** Where a new session begins. */
const startPath = '/consola/resumen';

/** Only pages of the console are gone back to. Another address could lead to another site. */
const consolePath = /^\/consola(\/[a-z0-9_-]+)+(\?[\w=&.%+*-]*)?$/i;

/** Returns the page to go back to, or the first page when the text is none of the console's. */
function backTo(text: string | undefined): string {
  return text !== undefined && consolePath.test(text) ? text : startPath;
}

const query = z.strictObject({ volver: z.string().optional() });

const fields = z.strictObject({
  token: z.string().regex(/^\S+$/, 'no puede tener espacios'),
  nombre: z.string().max(maxNameLength).optional(),
});

type Dependencies = Pick<ApiDependencies, 'pool' | 'identify'> & { site: Site };

/** `/consola`: a token of the account opens a session. */
export function makeSignInPage(dependencies: Dependencies): Page<PageRequest> {
  const { pool, site } = dependencies;
  return withQuery({
    query,
    forms: {
      entrar: form(fields, async (values, request: PageRequest<z.output<typeof query>>) => {
        await signIn(values, request.context, dependencies);
        return { to: backTo(request.query.values?.volver) };
      }),
    },
    done: {
      salida: 'La sesión terminó. Hasta pronto.',
      vencida: `La sesión terminó: pasaron ${idleMinutes} minutos sin uso o ${longestHours} horas, o alguien la terminó. Entre de nuevo.`,
    },
    async show({ context }) {
      const secret = readCookie(context, 'session', site);
      const isSignedIn = secret !== null && (await findSession(pool, secret)) !== null;
      return isSignedIn ? { to: startPath } : { title: 'Entrar a la consola', body: <SignIn /> };
    },
  });
}

/** @throws ApiProblem parametro_invalido about the token, limite_por_minuto, servicio_no_disponible */
async function signIn(
  { token, nombre }: z.output<typeof fields>,
  context: ApiContext,
  { pool, identify, site }: Dependencies,
): Promise<void> {
  await context.state.countRequest(addressSubject(context.ip));
  const caller = await identifyTyped(identify, token);
  const before = readCookie(context, 'session', site);
  if (before !== null) await endSessionOf(pool, before);
  const browser = context.get('User-Agent');
  writeCookie(context, 'session', await startSession(pool, caller, { name: nombre ?? null, browser }), site);
  context.state.caller = caller;
}

/** @throws ApiProblem parametro_invalido about the field `token`, servicio_no_disponible */
function identifyTyped(identify: ApiDependencies['identify'], token: string): Promise<Caller> {
  return identify(`Bearer ${token}`).catch((error: unknown) => {
    if (!(error instanceof ApiProblem) || error.status >= 500) throw error;
    throw fieldProblem('parametro_invalido', 'token', error.message);
  });
}

function SignIn() {
  return (
    <>
      <h1>Entrar a la consola</h1>
      <p>
        Con un token de su cuenta. No se guarda: queda una sesión en este navegador, que termina tras {idleMinutes}{' '}
        minutos sin uso, a las {longestHours} horas o cuando se revoca el token.
      </p>
      <Form name="entrar">
        <TextField
          name="token"
          label="Token"
          type="password"
          hint="Empieza con pad_live_. Es el mismo que usa en la API."
          autocomplete="off"
          isRequired
        />
        <TextField
          name="nombre"
          label="Nombre de la sesión (opcional)"
          hint="Para reconocerla en la lista de sesiones, por ejemplo «Laptop de contabilidad»."
          autocomplete="off"
        />
        <button type="submit">Entrar</button>
      </Form>
      <p class="quiet after">
        ¿Todavía sin token? El de pruebas abre el calendario: vea la <Link to="/docs">documentación</Link>.
      </p>
    </>
  );
}

/** `/consola/salir`. The menu's button is sent here. */
export function makeSignOutPage({ pool, site }: Pick<Dependencies, 'pool' | 'site'>) {
  return {
    forms: {
      salir: form(z.strictObject({}), async (_, { context }: PageRequest): Promise<Redirect> => {
        const secret = readCookie(context, 'session', site);
        if (secret !== null) await endSessionOf(pool, secret);
        writeCookie(context, 'session', null, site);
        return { to: '/consola?hecho=salida' };
      }),
    },
    show: () => ({
      title: 'Salir',
      body: (
        <>
          <h1>Salir de la consola</h1>
          <p>Termina la sesión de este navegador. Las demás sesiones de la cuenta siguen.</p>
          <Form name="salir">
            <button type="submit">Salir</button>
          </Form>
        </>
      ),
    }),
  } satisfies Page<PageRequest>;
}

const confirmQuery = z.strictObject({ volver: z.string().optional() });

/** `/consola/confirmar`: the token again, before a secret is shown or changed and before something is deleted. */
export function makeConfirmPage({ pool, identify }: Pick<ApiDependencies, 'pool' | 'identify'>): Page<AccountRequest> {
  return accountPageWithQuery({
    query: confirmQuery,
    forms: {
      confirmar: form(
        z.strictObject({ token: z.string() }),
        async ({ token }, request: AccountRequest<z.output<typeof confirmQuery>>) => {
          const { session, context } = request;
          await context.state.countRequest(addressSubject(context.ip));
          const { accountId } = await identifyTyped(identify, token);
          if (accountId !== session.caller.accountId)
            throw fieldProblem('parametro_invalido', 'token', 'el token es de otra cuenta');
          await confirmSession(pool, session.id);
          return { to: backTo(request.query.values?.volver) };
        },
      ),
    },
    show: () => ({
      title: 'Confirme que es usted',
      body: (
        <>
          <h1>Confirme que es usted</h1>
          <p>
            Antes de mostrar o cambiar un secreto, y antes de borrar, se pide de nuevo un token de la cuenta. Vale{' '}
            {confirmedMinutes} minutos. Después vuelve a donde estaba: pulse ahí otra vez el botón.
          </p>
          <Form name="confirmar">
            <TextField name="token" label="Token" type="password" autocomplete="off" isRequired />
            <button type="submit">Confirmar</button>
          </Form>
        </>
      ),
    }),
  });
}
