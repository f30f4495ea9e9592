import { hash } from 'node:crypto';
import { z } from 'zod';
import {
  type ListStanding,
  type SupplierCheck,
  type SupplierMeta,
  supplierAnswer,
} from '../../../../schemas/http/supplier.ts';
import type { ApiDependencies } from '../../../dependencies.ts';
import { makeSupplierHandlers } from '../../../routes/supplier.ts';
import { Form, TextField } from '../../fields.tsx';
import { longDay } from '../../formats.ts';
import { type AccountRequest, form, type Page } from '../../page.ts';
import { Facts, Link, Moment, Table } from '../../parts.tsx';
import { registerNamesShown } from '../words.ts';
import { CompanyMenu, Hash, Sources } from './company.tsx';

const fields = z.strictObject({ inhabilitado_al: z.string().optional() });

/** `/consola/empresas/{ruc}/proveedor`: asks for a check, which is stored as evidence. */
export function makeSupplierPage(dependencies: ApiDependencies): Page<AccountRequest> {
  const { evaluarProveedor } = makeSupplierHandlers(dependencies);
  return {
    forms: {
      evaluar: form(fields, async (query, { params, context }: AccountRequest) => {
        const answer = await evaluarProveedor({ params: { ruc: params.ruc ?? '' }, query, body: undefined }, context);
        const { meta } = supplierAnswer.parse(JSON.parse(answer));
        return { to: `/consola/proveedores/${meta.consulta_id}` };
      }),
    },
    show({ params: { ruc = '' } }) {
      return {
        title: `Evaluar el RUC ${ruc}`,
        body: (
          <>
            <h1>Evaluar el RUC {ruc}</h1>
            <CompanyMenu ruc={ruc} />
            <p>
              El registro, las listas de la autoridad tributaria, las inhabilitaciones para contratar con el Estado y
              advertencias, en una constancia con número que se conserva cinco años. Cuenta una consulta.
            </p>
            <Form name="evaluar">
              <TextField
                name="inhabilitado_al"
                label="Día en que se juzgan las inhabilitaciones (opcional)"
                type="date"
                hint="Por omisión, hoy. Por ejemplo, el día de la buena pro."
              />
              <button type="submit">Evaluar</button>
            </Form>
          </>
        ),
      };
    },
  };
}

/** `/consola/proveedores/{consulta_id}`: a check as it was given, to print. */
export function makeEvidencePage(dependencies: ApiDependencies): Page<AccountRequest> {
  const { verConsultaDeProveedor } = makeSupplierHandlers(dependencies);
  return {
    async show({ params, context }) {
      const wanted = { params: { consulta_id: params.consulta_id ?? '' }, query: undefined, body: undefined };
      const answer = await verConsultaDeProveedor(wanted, context);
      const { data, meta } = supplierAnswer.parse(JSON.parse(answer));
      return {
        title: `Constancia ${meta.consulta_id}`,
        body: <Evidence check={data} meta={meta} sha256={hash('sha256', answer, 'hex')} />,
      };
    },
  };
}

const results: Readonly<Record<SupplierCheck['resultado'], { text: string; tone: string }>> = {
  sin_observaciones: { text: 'Sin observaciones', tone: 'good' },
  con_observaciones: { text: 'Con observaciones', tone: 'bad' },
  no_determinado: { text: 'No se puede determinar: falta un dato o una fuente', tone: 'warn' },
};
const procurement: Readonly<Record<SupplierCheck['contrataciones_estado']['resultado'], string>> = {
  no_figura: 'No figura entre los proveedores sancionados',
  sin_sancion_vigente: 'Figura, sin sanción vigente ese día',
  inhabilitado: 'Inhabilitado para contratar con el Estado',
  no_determinado: 'No se puede determinar',
};
const severities = { grave: 'Grave', atencion: 'Atención', info: 'Información' } as const;

interface EvidenceProps {
  check: SupplierCheck;
  meta: SupplierMeta;
  sha256: string;
}

function Evidence({ check, meta, sha256 }: EvidenceProps) {
  const { registro, contrataciones_estado: state } = check;
  const result = results[check.resultado];
  return (
    <>
      <h1>{registro.nombre}</h1>
      <p class="lead-line">
        RUC <Link to={`/consola/empresas/${check.ruc}`}>{check.ruc}</Link>
      </p>
      <p class={`message ${result.tone}`}>
        <strong>{result.text}.</strong>
      </p>
      <Facts
        facts={[
          ['Constancia n.º', <Hash key="id" text={meta.consulta_id} />],
          ['Consultado', <Moment key="at" at={new Date(meta.consultado_en)} />],
          ['Estado', registro.estado ?? 'sin dato'],
          ['Condición del domicilio', registro.condicion ?? 'sin dato'],
          ['Agente de retención', standingText(check.agente_retencion)],
          ['Buen contribuyente', standingText(check.buen_contribuyente)],
          [`Contrataciones del Estado, al ${longDay(state.evaluado_al)}`, procurement[state.resultado]],
          ['En sus listas', listsText(check)],
        ]}
      />
      <h2>Advertencias</h2>
      <Warnings warnings={check.advertencias} />
      {state.sanciones.length > 0 && (
        <>
          <h2>Sanciones</h2>
          <Bars bars={state.sanciones} />
        </>
      )}
      <h2>Fuentes</h2>
      <Sources sources={[...meta.fuentes, ...state.fuentes]} />
      <p>SHA-256 de la constancia:</p>
      <p>
        <Hash text={sha256} />
      </p>
      <p class="quiet">
        Es la huella de los bytes de <code>GET /id/v1/proveedor/consultas/{meta.consulta_id}</code>, que no cuenta
        consulta. Imprima la página para guardarla.
      </p>
    </>
  );
}

function standingText({ figura, desde, resolucion }: ListStanding): string {
  if (figura === null) return 'La lista no está cargada';
  if (!figura) return 'No figura';
  return ['Sí', desde === null ? null : `desde el ${longDay(desde)}`, resolucion]
    .filter((part) => part !== null)
    .join(', ');
}

function listsText({ vigilado: { listas } }: SupplierCheck): string {
  return listas.length === 0 ? 'En ninguna' : listas.map(({ nombre }) => nombre).join(', ');
}

function Warnings({ warnings }: { warnings: SupplierCheck['advertencias'] }) {
  if (warnings.length === 0) return <p>Ninguna.</p>;
  return (
    <ul>
      {warnings.map(({ codigo, severidad, mensaje }) => (
        <li key={codigo}>
          <strong>{severities[severidad]}:</strong> {mensaje}
        </li>
      ))}
    </ul>
  );
}

const barColumns = [
  { name: 'Resolución' },
  { name: 'Desde' },
  { name: 'Hasta' },
  { name: 'Vigente' },
  { name: 'Fuente' },
];

function Bars({ bars }: { bars: SupplierCheck['contrataciones_estado']['sanciones'] }) {
  return (
    <Table label="Sanciones" columns={barColumns} stacked>
      {bars.map(({ resolucion, motivo, desde, hasta, definitiva, vigente, fuente }) => (
        <tr key={`${fuente} ${resolucion} ${desde}`}>
          <td class="first wraps">
            {resolucion}
            {motivo !== null && <span class="quiet below">{motivo}</span>}
          </td>
          <td class="tabular">
            <span class="label">Desde </span>
            {desde === null ? 'sin dato' : longDay(desde)}
          </td>
          <td class="tabular">
            <span class="label">Hasta </span>
            {definitiva ? 'definitiva' : hasta === null ? 'sin fin' : longDay(hasta)}
          </td>
          <td>
            <span class="label">Vigente </span>
            {vigente === null ? 'no se sabe' : vigente ? 'sí' : 'no'}
          </td>
          <td>{registerNamesShown[fuente]}</td>
        </tr>
      ))}
    </Table>
  );
}
