import { z } from 'zod';
import type { Pool } from '../../../pipelines/runtime/postgres.ts';
import { capabilities, linkHours } from '../../../schemas/http/account.ts';
import { keptText } from '../../../schemas/http/envelope.ts';
import type { ApiDependencies } from '../../dependencies.ts';
import { addressSubject } from '../../metering/minute-limits.ts';
import { ApiProblem, notFound } from '../../problems.ts';
import { capabilityTexts } from '../admission.tsx';
import { Checks, Form, Select, TextField } from '../fields.tsx';
import { type AccountRequest, form, type Page, type PageRequest, type View, withQuery } from '../page.ts';
import { Code, Link, Moment, Table } from '../parts.tsx';
import { readCookie, type Site, writeCookie } from '../sessions/cookies.ts';
import { createLink, endLink, type LinkSummary, readLink, redeemLink } from '../sessions/links.ts';
import { endSessionOf } from '../sessions/sessions.ts';

const secret = z.string().regex(/^[A-Za-z0-9_-]{43}$/);
const query = z.strictObject({ clave: secret.optional() });

/**
 * `/consola/enlace`: opens a session with a link. Seeing the page uses nothing up, because programs that scan mails
 * follow links; the button does.
 */
export function makeLinkPage({ pool, site }: Pick<ApiDependencies, 'pool'> & { site: Site }): Page<PageRequest> {
  return withQuery({
    query,
    forms: {
      abrir: form(
        z.strictObject({ clave: secret }),
        async ({ clave }, { context }: PageRequest<z.output<typeof query>>) => {
          await context.state.countRequest(addressSubject(context.ip));
          const cookie = await redeemLink(pool, clave, context.get('User-Agent'));
          if (cookie === null) throw new ApiProblem('formulario_rechazado', 'El enlace ya se usó, venció o se anuló.');
          const before = readCookie(context, 'session', site);
          if (before !== null) await endSessionOf(pool, before);
          writeCookie(context, 'session', cookie, site);
          return { to: '/consola/resumen' };
        },
      ),
    },
    async show({ context, query: { values } }) {
      await context.state.countRequest(addressSubject(context.ip));
      const clave = values?.clave;
      const link = clave === undefined ? null : await readLink(pool, clave);
      if (clave === undefined || link === null) return { title: 'El enlace no vale', status: 404, body: <Unusable /> };
      return {
        title: 'Entrar con un enlace',
        body: (
          <>
            <h1>Entrar a la consola de {link.account}</h1>
            <p>
              Este enlace sirve una sola vez, hasta el <Moment at={link.expiresAt} />. Permite:
            </p>
            <ul>
              {link.capabilities.map((each) => (
                <li key={each}>{capabilityTexts[each]}</li>
              ))}
            </ul>
            <Form name="abrir">
              <input type="hidden" name="clave" value={clave} />
              <button type="submit">Entrar</button>
            </Form>
          </>
        ),
      };
    },
  });
}

function Unusable() {
  return (
    <>
      <h1>El enlace no vale</h1>
      <p>Ya se usó, venció o se anuló. Pida otro a quien se lo envió.</p>
      <p>
        Con un token puede <Link to="/consola">entrar a la consola</Link>.
      </p>
    </>
  );
}

const linkFields = z.strictObject({
  para: keptText(60).optional(),
  permisos: z
    .preprocess((value) => (typeof value === 'string' ? [value] : value), z.array(z.enum(capabilities)))
    .optional(),
  horas: z.coerce.number().int().min(linkHours.least).max(linkHours.most),
});

export const linkTexts = { anulado: 'El enlace ya no vale.' } as const;

/** Forms of the page of tokens about links. */
export function linkForms(pool: Pool) {
  return {
    enlazar: form(linkFields, async ({ para, permisos = [], horas }, { session, origin }: AccountRequest) => {
      const { accountId, tokenId } = session.caller;
      // A session gives no more than it has.
      const allowed = permisos.filter((each) => session.capabilities.includes(each));
      const link = {
        accountId,
        tokenId: isToken(tokenId) ? tokenId : null,
        capabilities: allowed,
        name: para ?? null,
        hours: horas,
      };
      const made = await createLink(pool, link);
      if (made === null) throw notFound('La cuenta');
      return madeView(`${origin}${made.path}`, made.expiresAt);
    }),
    anular: form(z.strictObject({ enlace: z.uuid() }), async ({ enlace }, { session }: AccountRequest) => {
      if (!(await endLink(pool, session.caller.accountId, enlace))) throw notFound('El enlace');
      return { to: '/consola/tokens?hecho=anulado' };
    }),
  };
}

/** Whether it is the id of a token. A session that began with an operator's link has none. */
function isToken(id: string): boolean {
  return /^[0-9a-f]{16}$/.test(id);
}

function madeView(address: string, expiresAt: Date): View {
  return {
    title: 'El enlace está creado',
    body: (
      <>
        <h1>El enlace está creado</h1>
        <p>
          Cópielo ahora: no se vuelve a mostrar. Sirve una vez, hasta el <Moment at={expiresAt} />. Quien lo tenga puede
          lo que el enlace permite.
        </p>
        <Code label="Enlace">{address}</Code>
        <p>
          <Link to="/consola/tokens" class="button">
            Ya lo copié
          </Link>
        </p>
      </>
    ),
  };
}

const columns = [{ name: 'Para' }, { name: 'Permite' }, { name: 'Vence' }, { name: 'Acción' }];
const optional = capabilities.filter((each) => each !== 'ver');

/** The links that nobody has used, and the form for another. */
export function Links({ links }: { links: readonly LinkSummary[] }) {
  return (
    <>
      <p>Un enlace abre la consola una vez, sin token, y permite solo lo que se marca. Siempre permite ver.</p>
      {links.length > 0 && (
        <Table label="Enlaces sin usar" columns={columns} stacked>
          {links.map(({ id, name, capabilities: allowed, expiresAt }) => (
            <tr key={id}>
              <td class="first wraps">{name ?? 'Sin nombre'}</td>
              <td class="wraps">{allowed.map((each) => capabilityTexts[each]).join(', ')}</td>
              <td>
                <span class="label">Vence </span>
                <Moment at={expiresAt} />
              </td>
              <td class="aside">
                <Form name="anular" of={{ name: 'enlace', value: id }}>
                  <button type="submit" class="plain small" aria-label={`Anular el enlace ${name ?? id}`}>
                    Anular
                  </button>
                </Form>
              </td>
            </tr>
          ))}
        </Table>
      )}
      <Form name="enlazar">
        <h3>Crear un enlace</h3>
        <TextField name="para" label="Para quién (opcional)" autocomplete="off" maxLength={60} />
        <Checks
          name="permisos"
          label="Además de ver, permite"
          options={optional.map((each) => ({ value: each, label: capabilityTexts[each] }))}
        />
        <Select
          name="horas"
          label="Vence en"
          value={String(linkHours.preset)}
          options={[
            { value: '1', label: '1 hora' },
            { value: '24', label: '24 horas' },
            { value: '72', label: '3 días' },
            { value: '168', label: '7 días' },
          ]}
        />
        <button type="submit">Crear</button>
      </Form>
    </>
  );
}
