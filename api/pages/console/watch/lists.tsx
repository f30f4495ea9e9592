import { z } from 'zod';
import { pageLists, type WatchList } from '../../../../pipelines/watch/lists.ts';
import { newList } from '../../../../schemas/http/lists.ts';
import type { ApiDependencies } from '../../../dependencies.ts';
import { pageOf, readCursor } from '../../../input.ts';
import { makeListHandlers } from '../../../routes/lists.ts';
import { Form, TextField } from '../../fields.tsx';
import { number } from '../../formats.ts';
import { type AccountRequest, accountPageWithQuery, form, type Page } from '../../page.ts';
import { Link, Moment, Table } from '../../parts.tsx';

const query = z.strictObject({ cursor: z.string().optional() });
const listsPerPage = 100;

/** `/consola/listas`: the lists of companies that the account watches. */
export function makeListsPage(dependencies: ApiDependencies): Page<AccountRequest> {
  const { crearLista } = makeListHandlers(dependencies);
  return accountPageWithQuery({
    query,
    done: { borrada: 'La lista se borró. Sus empresas ya no se vigilan por ella.' },
    forms: {
      crear: form(newList, async (body, { context }: AccountRequest<z.output<typeof query>>) => {
        const { data } = await crearLista({ params: {}, query: undefined, body }, context);
        return { to: `/consola/listas/${data.id}?hecho=creada` };
      }),
    },
    async show({ session, query: { values } }) {
      const after = Number(readCursor('listas', values?.cursor, '0'));
      const found = await pageLists(dependencies.pool, session.caller.accountId, after, listsPerPage + 1);
      const { page, cursor } = pageOf('listas', found, listsPerPage, ({ id }) => id);
      return {
        title: 'Listas',
        body: (
          <>
            <h1>Listas</h1>
            <Lists lists={page} />
            {cursor !== null && (
              <p>
                <Link to={`/consola/listas?${new URLSearchParams({ cursor })}`} class="button">
                  Más listas
                </Link>
              </p>
            )}
            <Form name="crear">
              <h2>Crear una lista</h2>
              <TextField name="nombre" label="Nombre" autocomplete="off" isRequired maxLength={200} />
              <TextField
                name="referencia"
                label="Referencia (opcional)"
                hint="Un dato suyo, que vuelve en cada aviso. Por ejemplo, el código en su sistema."
                autocomplete="off"
                maxLength={200}
              />
              <button type="submit">Crear</button>
            </Form>
          </>
        ),
      };
    },
  });
}

const columns = [{ name: 'Lista' }, { name: 'Empresas', isNumber: true }, { name: 'Creada' }];

function Lists({ lists }: { lists: readonly WatchList[] }) {
  if (lists.length === 0)
    return <p>Todavía no hay listas. Cuando cambia una empresa de una lista, hay un evento y un aviso.</p>;
  return (
    <Table label="Listas" columns={columns} stacked>
      {lists.map(({ id, nombre, referencia, rucs, created_at }) => (
        <tr key={id}>
          <td class="first wraps">
            <Link to={`/consola/listas/${id}`}>{nombre}</Link>
            {referencia !== null && <span class="quiet below">{referencia}</span>}
          </td>
          <td class="number aside">
            {number(rucs)}
            <span class="label"> empresas</span>
          </td>
          <td>
            <span class="label">Creada </span>
            <Moment at={created_at} />
          </td>
        </tr>
      ))}
    </Table>
  );
}
