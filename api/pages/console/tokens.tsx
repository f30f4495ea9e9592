import { z } from 'zod';
import { keptText } from '../../../schemas/http/envelope.ts';
import { createToken, listTokens, revokeTokenOf, type TokenSummary } from '../../accounts/tokens.ts';
import type { ApiDependencies } from '../../dependencies.ts';
import { notFound } from '../../problems.ts';
import { Form, TextField } from '../fields.tsx';
import { type AccountRequest, form, type Page, type View } from '../page.ts';
import { Code, Link, Moment, Table } from '../parts.tsx';
import { listLinks } from '../sessions/links.ts';
import { Links, linkForms, linkTexts } from './links.tsx';

const maxTokenName = 60;
/** Tokens that the page shows, the newest first. */
const shownTokens = 200;

/** `/consola/tokens`: the account's tokens, and links for colleagues. */
export function makeTokensPage({ pool }: Pick<ApiDependencies, 'pool'>): Page<AccountRequest> {
  return {
    done: { revocado: 'El token está revocado. Deja de valer en 5 segundos como máximo.', ...linkTexts },
    forms: {
      crear: form(z.strictObject({ nombre: keptText(maxTokenName) }), async ({ nombre }, request: AccountRequest) => {
        const made = await createToken(pool, request.session.caller.accountId, nombre);
        if (made === null) throw notFound('La cuenta');
        return tokenView(made.token);
      }),
      revocar: form(z.strictObject({ token: z.string() }), async ({ token }, request: AccountRequest) => {
        const { accountId, tokenId } = request.session.caller;
        if ((await revokeTokenOf(pool, accountId, token)) === null) throw notFound('El token');
        // The session of a token ends with it.
        return { to: token === tokenId ? '/consola?hecho=vencida' : '/consola/tokens?hecho=revocado' };
      }),
      ...linkForms(pool),
    },
    async show({ session }) {
      const { accountId, tokenId } = session.caller;
      const [tokens, links] = await Promise.all([listTokens(pool, accountId, shownTokens), listLinks(pool, accountId)]);
      return {
        title: 'Tokens y enlaces',
        body: (
          <>
            <h1>Tokens y enlaces</h1>
            <h2>Tokens</h2>
            <Tokens tokens={tokens} current={tokenId} />
            <Form name="crear">
              <h3>Crear un token</h3>
              <TextField
                name="nombre"
                label="Nombre"
                hint="Para reconocerlo en la lista, por ejemplo «Servidor de facturación»."
                autocomplete="off"
                maxLength={maxTokenName}
                isRequired
              />
              <button type="submit">Crear</button>
            </Form>
            <h2>Enlaces para colegas</h2>
            <Links links={links} />
          </>
        ),
      };
    },
  };
}

const columns = [{ name: 'Token' }, { name: 'Creado' }, { name: 'Último uso' }, { name: 'Acción' }];

function Tokens({ tokens, current }: { tokens: readonly TokenSummary[]; current: string }) {
  if (tokens.length === 0) return <p>La cuenta no tiene ningún token.</p>;
  return (
    <Table label="Tokens" columns={columns} stacked>
      {tokens.map(({ id, name, created_at, last_used_at, revoked_at }) => (
        <tr key={id}>
          <td class="first wraps">
            <strong>{name ?? 'Sin nombre'}</strong> {id === current && <span class="badge">el de esta sesión</span>}
            <code class="below">pad_live_{id}_…</code>
          </td>
          <td>
            <span class="label">Creado </span>
            <Moment at={created_at} />
          </td>
          <td>
            <span class="label">Último uso </span>
            {last_used_at === null ? 'ninguno conocido' : <Moment at={last_used_at} />}
          </td>
          <td class="aside">
            {revoked_at === null ? (
              <Form name="revocar" of={{ name: 'token', value: id }}>
                <button type="submit" class="plain small" aria-label={`Revocar el token ${name ?? id}`}>
                  Revocar
                </button>
              </Form>
            ) : (
              'revocado'
            )}
          </td>
        </tr>
      ))}
    </Table>
  );
}

function tokenView(token: string): View {
  return {
    title: 'El token está creado',
    body: (
      <>
        <h1>El token está creado</h1>
        <p>Guárdelo ahora: no se vuelve a mostrar.</p>
        <Code label="Token">{token}</Code>
        <p>
          <Link to="/consola/tokens" class="button">
            Ya lo guardé
          </Link>
        </p>
      </>
    ),
  };
}
