import { hash } from 'node:crypto';
import { z } from 'zod';
import type { Source, TaxpayerMeta, TaxpayerRecord } from '../../../../schemas/http/taxpayer.ts';
import { registers } from '../../../../schemas/registers.ts';
import { successBody } from '../../../answers.ts';
import type { ApiDependencies } from '../../../dependencies.ts';
import { makeTaxpayerHandlers } from '../../../routes/taxpayer.ts';
import { Filters, TextField } from '../../fields.tsx';
import { longDay } from '../../formats.ts';
import { errorsIn } from '../../forms.ts';
import { type AccountRequest, accountPageWithQuery, type Filled, type Page } from '../../page.ts';
import { Facts, Link, Moment, Table } from '../../parts.tsx';
import { recordFields, registerNamesShown, shownValue } from '../words.ts';

const query = z.strictObject({ fecha: z.string().optional() });

/** `/consola/empresas/{ruc}`: the record now or on a day, with the register and the date of each field. */
export function makeCompanyPage(dependencies: ApiDependencies): Page<AccountRequest> {
  const { consultarRuc } = makeTaxpayerHandlers(dependencies);
  return accountPageWithQuery({
    query,
    async show({ context, params, query: { typed, values } }) {
      const ruc = params.ruc ?? '';
      const wanted = { params: { ruc }, query: values ?? {}, body: undefined };
      try {
        const { data, meta } = await consultarRuc(wanted, context);
        const at = dependencies.now();
        const filled = { typed, errors: {}, problem: null };
        return {
          title: data.nombre,
          body: <Company record={data} meta={meta} day={values?.fecha} at={at} filled={filled} />,
        };
      } catch (error) {
        // A wrong day is said beside its field. All else is thrown on.
        const refused = errorsIn(error, ['fecha']);
        if (refused.problem !== null) throw error;
        return { title: `RUC ${ruc}`, status: 422, body: <WrongDay ruc={ruc} filled={{ typed, ...refused }} /> };
      }
    },
  });
}

/** Links between the pages about one RUC. */
export function CompanyMenu({ ruc }: { ruc: string }) {
  const pages = [
    ['', 'Registro'],
    ['/historial', 'Historial'],
    ['/proveedor', 'Evaluar como proveedor'],
  ] as const;
  return (
    <nav class="tabs" aria-label={`Páginas del RUC ${ruc}`}>
      <ul>
        {pages.map(([path, name]) => (
          <li key={path}>
            <Link to={`/consola/empresas/${ruc}${path}`} isAlone>
              {name}
            </Link>
          </li>
        ))}
      </ul>
    </nav>
  );
}

function DayFilter({ filled }: { filled: Filled }) {
  return (
    <Filters filled={filled}>
      <TextField name="fecha" label="Como era el día" type="date" />
      <div class="field">
        <button type="submit">Ver</button>
      </div>
    </Filters>
  );
}

function WrongDay({ ruc, filled }: { ruc: string; filled: Filled }) {
  return (
    <>
      <h1>RUC {ruc}</h1>
      <CompanyMenu ruc={ruc} />
      <DayFilter filled={filled} />
    </>
  );
}

interface CompanyProps {
  record: TaxpayerRecord;
  meta: TaxpayerMeta;
  day: string | undefined;
  at: Date;
  filled: Filled;
}

function Company({ record, meta, day, at, filled }: CompanyProps) {
  const sources = new Map(meta.fuentes.map((source) => [source.registro, source]));
  const rows = Object.entries(recordFields) as [keyof typeof recordFields, (typeof recordFields)['nombre']][];
  return (
    <>
      <h1>{record.nombre}</h1>
      <p class="lead-line">
        RUC <span class="tabular">{record.ruc}</span>
        {day === undefined ? '' : `, como era el ${longDay(day)}`}
      </p>
      <CompanyMenu ruc={record.ruc} />
      <DayFilter filled={filled} />
      <Table
        label="Registro"
        columns={[{ name: 'Campo' }, { name: 'Valor' }, { name: 'Padrón' }, { name: 'Fecha del dato' }]}
        stacked
      >
        {rows.map(([field, { label, register }]) => (
          <tr key={field}>
            <th scope="row" class="first">
              {label}
            </th>
            <td class="wraps">{shownValue(record[field])}</td>
            <td>{register === null ? 'Catálogo de ubigeos' : registerNamesShown[register]}</td>
            <td class="tabular">{register === null ? '' : dateOf(sources.get(register))}</td>
          </tr>
        ))}
      </Table>
      {meta.direccion_motivo !== undefined && (
        <p class="quiet">Los padrones no publican la dirección de personas naturales.</p>
      )}
      <p class="quiet">El ubigeo es el del padrón reducido; si no lo trae, el del mensual.</p>
      <h2>Fuentes</h2>
      <Sources sources={meta.fuentes} />
      <h2>Constancia</h2>
      <Facts
        facts={[
          ['Consultado', <Moment key="at" at={at} />],
          ['SHA-256 de la respuesta', <Hash key="hash" text={hash('sha256', successBody(record, meta), 'hex')} />],
        ]}
      />
      <p class="quiet">
        La respuesta es la de <code>GET /id/v1/ruc/{record.ruc}</code>: con las mismas fuentes son los mismos bytes.
        Para guardar esta constancia, imprima la página. Cada consulta cuenta una vez.
      </p>
    </>
  );
}

function dateOf(source: Source | undefined): string {
  return source === undefined ? 'no cargado' : longDay(source.fecha_dato);
}

/** A hash that a person may copy. */
export function Hash({ text }: { text: string }) {
  return <code class="hash">{text}</code>;
}

/** The official files that an answer was read from. */
export function Sources({ sources }: { sources: readonly Source[] }) {
  const columns = [{ name: 'Padrón' }, { name: 'Fecha del dato' }, { name: 'Publicado (Lima)' }, { name: 'SHA-256' }];
  return (
    <Table label="Fuentes" columns={columns} stacked>
      {sources.map(({ registro, fecha_dato, publicado_en, sha256 }) => (
        <tr key={registro}>
          <td class="first wraps">{registers[registro].title}</td>
          <td class="tabular">
            <span class="label">Fecha del dato </span>
            {longDay(fecha_dato)}
          </td>
          <td>
            <span class="label">Publicado </span>
            <Moment at={new Date(publicado_en)} />
          </td>
          <td class="wraps">{sha256 === null ? 'Es una corrección: no tiene archivo' : <Hash text={sha256} />}</td>
        </tr>
      ))}
    </Table>
  );
}
