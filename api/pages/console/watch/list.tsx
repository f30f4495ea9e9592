import { z } from 'zod';
import { pageMembers, type WatchList } from '../../../../pipelines/watch/lists.ts';
import type { AddedMembers, ShownMember } from '../../../../schemas/http/lists.ts';
import { limaTime } from '../../../../schemas/lima-time.ts';
import type { ApiDependencies } from '../../../dependencies.ts';
import { fieldProblem } from '../../../problems.ts';
import { makeListHandlers, makeMemberHandlers, requireList } from '../../../routes/lists.ts';
import { Form, TextArea } from '../../fields.tsx';
import { number } from '../../formats.ts';
import { type AccountRequest, accountPageWithQuery, form, type Page, type View } from '../../page.ts';
import { Link, Moment, Table } from '../../parts.tsx';
import { csvOf, maxPastedLines, type PastedLine, readPasted, refusalTexts } from './pasted.ts';

const query = z.strictObject({ cursor: z.string().optional() });
type Query = z.output<typeof query>;
const membersPerPage = 100;

/** `/consola/listas/{lista}`: the companies of a list, and more of them by pasting. */
export function makeListPage(dependencies: ApiDependencies): Page<AccountRequest> {
  const { pool } = dependencies;
  const { borrarLista } = makeListHandlers(dependencies);
  const { agregarRucs, verRucs, quitarRuc } = makeMemberHandlers(dependencies);
  const listOf = ({ params }: AccountRequest) => params.lista ?? '';
  return accountPageWithQuery({
    query,
    done: {
      creada: 'La lista está creada. Agréguele empresas.',
      quitado: 'La empresa ya no está en la lista.',
    },
    forms: {
      agregar: form(z.strictObject({ rucs: z.string() }), async ({ rucs }, request: AccountRequest<Query>) => {
        const list = await requireList(pool, request.context, listOf(request));
        const lines = readPasted(rucs);
        if (lines.length > maxPastedLines)
          throw fieldProblem(
            'limite_excedido',
            'rucs',
            `admite hasta ${number(maxPastedLines)} líneas a la vez; hay ${number(lines.length)}`,
          );
        const companies = lines.flatMap(({ outcome }) => ('ruc' in outcome ? [outcome.ruc] : []));
        const wanted = { params: { lista: listOf(request) }, query: undefined, body: { rucs: companies } };
        const added = companies.length === 0 ? null : (await agregarRucs(wanted, request.context)).data;
        return pastedView(list, lines, added);
      }),
      quitar: form(z.strictObject({ ruc: z.string() }), async ({ ruc }, request: AccountRequest<Query>) => {
        const lista = listOf(request);
        await quitarRuc({ params: { lista, ruc }, query: undefined, body: undefined }, request.context);
        return { to: `/consola/listas/${lista}?hecho=quitado` };
      }),
      borrar: form(z.strictObject({}), async (_, request: AccountRequest<Query>) => {
        const wanted = { params: { lista: listOf(request) }, query: undefined, body: undefined };
        await borrarLista(wanted, request.context);
        return { to: '/consola/listas?hecho=borrada' };
      }),
    },
    async show(request) {
      const { context, query: filters } = request;
      const list = await requireList(pool, context, listOf(request));
      const wanted = { limite: membersPerPage, cursor: filters.values?.cursor };
      const { data, meta } = await verRucs(
        { params: { lista: listOf(request) }, query: wanted, body: undefined },
        context,
      );
      return { title: list.nombre, scripts: ['file.js'], body: <List list={list} members={data} next={meta.cursor} /> };
    },
  });
}

/** `/consola/listas/{lista}/exportar`: all companies of a list as CSV. */
export function makeExportPage({ pool }: Pick<ApiDependencies, 'pool'>): Page<AccountRequest> {
  return {
    async show({ context, params }) {
      const list = await requireList(pool, context, params.lista ?? '');
      const rows = [['ruc', 'agregado_en']];
      for (let after = ''; ; ) {
        const members = await pageMembers(pool, list.id, after, exportChunkRows);
        rows.push(...members.map(({ ruc, added_at }) => [ruc, limaTime(added_at)]));
        if (members.length < exportChunkRows) break;
        after = members.at(-1)!.ruc;
      }
      return { fileName: `lista-${list.id}.csv`, type: 'text/csv', text: csvOf(rows) };
    },
  };
}

/** A list has at most 100,000 companies, which are some 4 MB of CSV. */
const exportChunkRows = 5_000;

function ListPath() {
  return (
    <p class="path">
      <Link to="/consola/listas">Listas</Link>
    </p>
  );
}

function List({ list, members, next }: { list: WatchList; members: readonly ShownMember[]; next: string | null }) {
  return (
    <>
      <ListPath />
      <h1>{list.nombre}</h1>
      <p>
        {list.rucs === 1 ? '1 empresa' : `${number(list.rucs)} empresas`}
        {list.referencia !== null && `, referencia ${list.referencia}`} ·{' '}
        <Link to={`/consola/eventos?lista=${list.id}`}>Eventos</Link> ·{' '}
        <Link to={`/consola/listas/${list.id}/exportar`}>Exportar (CSV)</Link>
      </p>
      {members.length === 0 ? <p>La lista está vacía.</p> : <Members members={members} />}
      {next !== null && (
        <p>
          <Link to={`/consola/listas/${list.id}?${new URLSearchParams({ cursor: next })}`} class="button">
            Más empresas
          </Link>
        </p>
      )}
      <Form name="agregar">
        <h2>Agregar empresas</h2>
        <TextArea
          name="rucs"
          label="RUC, uno por línea, o una tabla (CSV)"
          hint={`Hasta ${number(maxPastedLines)} líneas. De cada línea se toma el primer RUC. Cada una tiene su respuesta.`}
          rows={8}
        />
        <div class="field" data-file-for="agregar-rucs" />
        <button type="submit">Agregar</button>
      </Form>
      <Form name="borrar" class="after">
        <button type="submit" class="plain danger">
          Borrar la lista
        </button>
      </Form>
    </>
  );
}

const columns = [{ name: 'RUC' }, { name: 'Estado' }, { name: 'Condición' }, { name: 'Agregada' }, { name: 'Acción' }];

function Members({ members }: { members: readonly ShownMember[] }) {
  return (
    <Table label="Empresas de la lista" columns={columns} stacked>
      {members.map(({ ruc, estado, condicion, agregado_en }) => (
        <tr key={ruc}>
          <td class="first tabular">
            <Link to={`/consola/empresas/${ruc}`}>{ruc}</Link>
          </td>
          <td>
            <span class="label">Estado </span>
            {estado ?? 'sin dato'}
          </td>
          <td>
            <span class="label">Condición </span>
            {condicion ?? 'sin dato'}
          </td>
          <td>
            <span class="label">Agregada </span>
            <Moment at={new Date(agregado_en)} />
          </td>
          <td class="aside">
            <Form name="quitar" of={{ name: 'ruc', value: ruc }}>
              <button type="submit" class="plain small" aria-label={`Quitar ${ruc}`}>
                Quitar
              </button>
            </Form>
          </td>
        </tr>
      ))}
    </Table>
  );
}

/** Answers each pasted line. It is not a redirect, because the answer stands nowhere else. */
function pastedView(list: WatchList, lines: readonly PastedLine[], added: AddedMembers | null): View {
  const held = new Map(added?.agregados.map(({ ruc, en_padron }) => [ruc, en_padron]));
  const count = held.size;
  return {
    title: `Agregadas a ${list.nombre}`,
    body: (
      <>
        <p class="path">
          <Link to={`/consola/listas/${list.id}`}>{list.nombre}</Link>
        </p>
        <h1>{count === 1 ? 'Se agregó 1 empresa' : `Se agregaron ${number(count)} empresas`}</h1>
        {lines.length === 0 ? (
          <p>Lo pegado no tenía ninguna línea.</p>
        ) : (
          <Table
            label="Respuesta a cada línea"
            columns={[{ name: 'Línea', isNumber: true }, { name: 'Leído' }, { name: 'Respuesta' }]}
            stacked
          >
            {lines.map(({ line, shown, outcome }) => (
              <tr key={line}>
                <td class="number">
                  <span class="label">Línea </span>
                  {line}
                </td>
                <td class="tabular">{shown}</td>
                <td class="wraps">
                  {'refusal' in outcome ? refusalTexts[outcome.refusal] : lineText(held, outcome.ruc)}
                </td>
              </tr>
            ))}
          </Table>
        )}
      </>
    ),
  };
}

function lineText(held: ReadonlyMap<string, boolean | null>, ruc: string): string {
  if (!held.has(ruc)) return 'Ya estaba en la lista.';
  return held.get(ruc) === false ? 'Agregada. Todavía no figura en el padrón.' : 'Agregada.';
}
