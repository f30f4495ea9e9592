import { z } from 'zod';
import { type SearchHit, type SearchQuery, searchQuery } from '../../../../schemas/http/search.ts';
import { checkRuc } from '../../../../schemas/ruc.ts';
import type { ApiDependencies } from '../../../dependencies.ts';
import { throwUnavailable } from '../../../problems.ts';
import { parseInput } from '../../../request.ts';
import { makeSearchHandlers } from '../../../routes/search.ts';
import { Filters, Select, TextField } from '../../fields.tsx';
import { longDay, number } from '../../formats.ts';
import { errorsIn } from '../../forms.ts';
import { type AccountRequest, accountPageWithQuery, type Filled, type Page } from '../../page.ts';
import { Link, Table } from '../../parts.tsx';
import { useSurroundings } from '../../surroundings.ts';

/** Fields of the form. What is wrong with another parameter is said above the page. */
const names = ['q', 'estado', 'condicion'] as const;
const text = z.string().optional();
const query = z.strictObject({ q: text, estado: text, condicion: text, ubigeo: text, cursor: text });

const suggestionsPath = '/consola/empresas/sugerencias';
const maxSuggestions = 8;

/** `/consola/empresas`: companies by name or RUC. */
export function makeSearchPage(dependencies: ApiDependencies): Page<AccountRequest> {
  const { buscarEmpresas } = makeSearchHandlers(dependencies);
  return accountPageWithQuery({
    query,
    async show({ context, query: { typed, values } }) {
      const wanted = values ?? {};
      const ruc = (wanted.q ?? '').replaceAll(' ', '');
      if (checkRuc(ruc).ok) return { to: `/consola/empresas/${ruc}` };
      const filled: Filled = { typed, errors: {}, problem: null };
      if (wanted.q === undefined) return searchView(filled, null);
      try {
        const parsed = parseInput(searchQuery, wanted);
        const { data, meta } = await buscarEmpresas({ params: {}, query: parsed, body: undefined }, context);
        return searchView(filled, { hits: data, day: meta.fecha_dato, next: meta.cursor });
      } catch (error) {
        return { ...searchView({ typed, ...errorsIn(error, names) }, null), status: 422 };
      }
    },
  });
}

/**
 * `/consola/empresas/sugerencias`: the first companies for what was typed so far, for suggest.js. It costs no unit, as
 * somebody who types would otherwise pay for every pause. It counts as a request of its minute, and an account without
 * units gets none.
 */
export function makeSuggestionsPage({
  meter,
  findCompanies,
  requireNames,
}: Pick<ApiDependencies, 'meter' | 'findCompanies' | 'requireNames'>): Page<AccountRequest> {
  return accountPageWithQuery({
    query: z.strictObject({ q: text }),
    async show({ session, query: { values } }) {
      await meter.requireUnits(session.caller, 1);
      const parsed = searchQuery.safeParse({ q: values?.q ?? '' });
      const hits = parsed.success ? await find(parsed.data) : [];
      return {
        title: 'Sugerencias',
        body: (
          <>
            <h1>Sugerencias</h1>
            <ul id="sugerencias" class="suggestions">
              {hits.map(({ company: { ruc, nombre } }) => (
                <li key={ruc}>
                  <Link to={`/consola/empresas/${ruc}`}>
                    {nombre} <span class="quiet tabular">{ruc}</span>
                  </Link>
                </li>
              ))}
            </ul>
          </>
        ),
      };
    },
  });

  async function find(wanted: SearchQuery) {
    const [{ hits }] = await Promise.all([findCompanies(wanted, maxSuggestions, null), requireNames()]).catch(
      throwUnavailable,
    );
    return hits;
  }
}

interface Found {
  hits: readonly SearchHit[];
  day: string;
  next: string | null;
}

function searchView(filled: Filled, found: Found | null) {
  return {
    title: 'Empresas',
    scripts: ['suggest.js'],
    body: (
      <>
        <h1>Empresas</h1>
        <SearchForm filled={filled} />
        {found === null ? <Help /> : <Hits found={found} typed={filled.typed} />}
      </>
    ),
  };
}

const anyOption = { value: '', label: 'Cualquiera' };
const optionsOf = (values: readonly string[]) => [anyOption, ...values.map((value) => ({ value, label: value }))];
const estados = optionsOf(['ACTIVO', 'BAJA DEFINITIVA', 'BAJA DE OFICIO', 'BAJA PROVISIONAL', 'SUSPENSIÓN TEMPORAL']);
const condiciones = optionsOf(['HABIDO', 'NO HABIDO', 'NO HALLADO', 'PENDIENTE']);

function SearchForm({ filled }: { filled: Filled }) {
  const { prefix } = useSurroundings();
  return (
    <Filters filled={filled}>
      <div class="grows">
        <TextField
          name="q"
          label="Razón social o RUC"
          type="search"
          hint="Al menos tres letras. El RUC también puede ser el de una persona natural, con contrato."
          autocomplete="off"
          isRequired
        />
        <div id="lugar-sugerencias" data-from={`${prefix}${suggestionsPath}`} aria-live="polite" />
      </div>
      <Select name="estado" label="Estado" options={estados} />
      <Select name="condicion" label="Condición" options={condiciones} />
      <div class="field">
        <button type="submit">Buscar</button>
      </div>
    </Filters>
  );
}

function Help() {
  return (
    <p class="quiet">
      Cada página de resultados cuenta una consulta, y nada si no encuentra. Las sugerencias al escribir no cuentan.
    </p>
  );
}

const columns = [{ name: 'Empresa' }, { name: 'RUC' }, { name: 'Estado' }, { name: 'Condición' }, { name: 'Lugar' }];

function Hits({ found: { hits, day, next }, typed }: { found: Found; typed: Filled['typed'] }) {
  if (hits.length === 0)
    return (
      <p>
        Ninguna empresa coincide en el padrón del {longDay(day)}. La búsqueda es por palabras del nombre; pruebe con
        menos, o quite los filtros.
      </p>
    );
  return (
    <>
      <p class="quiet">
        {hits.length === 1 ? '1 empresa' : `${number(hits.length)} empresas`}
        {next === null ? '' : ' en esta página'}, padrón del {longDay(day)}.
      </p>
      <Table label="Empresas encontradas" columns={columns} stacked>
        {hits.map((hit) => (
          <tr key={hit.ruc}>
            <td class="first wraps">
              <Link to={`/consola/empresas/${hit.ruc}`}>{hit.nombre}</Link>{' '}
              {hit.coincidencia === 'aproximada' && <span class="badge">parecida</span>}
            </td>
            <td class="tabular">{hit.ruc}</td>
            <td>{hit.estado ?? 'sin dato'}</td>
            <td>{hit.condicion ?? 'sin dato'}</td>
            <td>{[hit.distrito, hit.departamento].filter((place) => place !== null).join(', ')}</td>
          </tr>
        ))}
      </Table>
      {next !== null && (
        <p>
          <Link to={`/consola/empresas?${new URLSearchParams({ ...typed, cursor: next })}`} class="button">
            Más resultados
          </Link>
        </p>
      )}
    </>
  );
}
