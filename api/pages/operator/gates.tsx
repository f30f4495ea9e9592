import type { PastGate } from '../../../pipelines/editions/past-figures.ts';
import type { Publication } from '../../../pipelines/editions/publications.ts';
import { longDay, number } from '../formats.ts';
import { Link, Moment, Table } from '../parts.tsx';
import { Chart } from './chart.tsx';
import { CommandWords, Empty, PublicationStatus, Status } from './words.tsx';

// The gates of a publication: what was found, what is allowed, how much is left.

type Gate = Publication['gates'][number];

const percentages = new Intl.NumberFormat('es-PE', { style: 'percent', maximumFractionDigits: 4 });
const points = new Intl.NumberFormat('es-PE', { maximumFractionDigits: 4 });

/** Names a gate in words. The command line's name stands beside it. */
export function gateTitle(gate: string): string {
  const [name = '', part = ''] = gate.split('.');
  const kind = part === 'company' ? 'empresas' : 'los demás contribuyentes';
  switch (name) {
    case 'header':
      return 'Cabecera del archivo';
    case 'rejected':
      return 'Líneas rechazadas';
    case 'date':
      return 'Fecha de los datos';
    case 'rows':
      return 'Filas, respecto de la edición vigente';
    case 'changed':
      return `Filas cambiadas de ${kind}`;
    case 'deleted':
      return `Filas desaparecidas de ${kind}`;
    case 'column':
      return `Empresas en que cambió ${part}`;
    case 'empty':
      return `Variación de celdas vacías de ${part}`;
    case 'kept':
      return 'Celdas vacías donde nunca las hay';
    case 'notices':
      return 'Avisos que haría';
    default:
      return gate;
  }
}

const isCount = (gate: string) => gate === 'notices';
/** `rows` is the only gate whose limit is the least that is allowed. */
const isFloor = (gate: string) => gate === 'rows';

function figure(gate: string, value: Gate['value']): string {
  if (value === null) return '—';
  if (typeof value === 'number') return isCount(gate) ? number(value) : percentages.format(value);
  if (gate === 'date') return longDay(value);
  return { known: 'la conocida', unknown: 'sin referencia' }[value] ?? value;
}

/** How far the value is from its limit, in words. */
export function marginOf({ gate, value, limit, passed }: Pick<Gate, 'gate' | 'value' | 'limit' | 'passed'>): string {
  if (typeof value !== 'number' || typeof limit !== 'number') return '—';
  const left = isFloor(gate) ? value - limit : limit - value;
  const figure = isCount(gate) ? number(Math.abs(left)) : points.format(Math.abs(left) * 100);
  const size = isCount(gate) ? figure : `${figure} ${figure === '1' ? 'punto' : 'puntos'}`;
  if (left >= 0) return `${figure === '1' ? 'queda' : 'quedan'} ${size}`;
  return passed ? `pasa ${size} del límite, con pocos casos` : `pasa ${size} del límite`;
}

interface GatesProps {
  publication: Publication;
  history: ReadonlyMap<string, readonly PastGate[]>;
}

export function Gates({ publication: { id, gates }, history }: GatesProps) {
  if (gates.length === 0) return <Empty>Ningún control la ha juzgado todavía.</Empty>;
  const failed = gates.filter(({ passed }) => !passed);
  return (
    <>
      {failed.map((gate) => (
        <section key={gate.gate} class="failed-gate">
          <h3>{gateTitle(gate.gate)}</h3>
          <p>
            Se halló {figure(gate.gate, gate.value)}; lo permitido es {isFloor(gate.gate) ? 'al menos ' : 'hasta '}
            {figure(gate.gate, gate.limit)}: {marginOf(gate)}. <CommandWords>{gate.text}</CommandWords>
          </p>
          <GateChart gate={gate.gate} past={history.get(gate.gate) ?? []} />
        </section>
      ))}
      <GateTable id={id} gates={gates} />
    </>
  );
}

const columns = [
  { name: 'Control' },
  { name: 'Hallado', isNumber: true },
  { name: 'Permitido', isNumber: true },
  { name: 'Margen' },
  { name: 'Resultado' },
];

function GateTable({ id, gates }: { id: number; gates: readonly Gate[] }) {
  return (
    <Table label="Controles de la publicación" columns={columns} stacked>
      {gates.map((gate) => (
        <tr key={gate.gate}>
          <td class="first wraps">
            <Link to={`/publicaciones/${id}/controles/${gate.gate}`}>{gateTitle(gate.gate)}</Link>
            <span class="quiet below">
              <code>{gate.gate}</code>
            </span>
          </td>
          <td class="number">
            <span class="label">Hallado </span>
            {figure(gate.gate, gate.value)}
          </td>
          <td class="number">
            <span class="label">Permitido </span>
            {figure(gate.gate, gate.limit)}
          </td>
          <td>
            <span class="label">Margen </span>
            {marginOf(gate)}
          </td>
          <td class="aside">{gate.passed ? <Status tone="good">pasa</Status> : <Status tone="bad">no pasa</Status>}</td>
        </tr>
      ))}
    </Table>
  );
}

/** The gate's figure in the register's last publications, with the limit of each. Gates of texts have no chart. */
export function GateChart({ gate, past }: { gate: string; past: readonly PastGate[] }) {
  const points = past.flatMap(({ id, value, limit, passed }) =>
    typeof value === 'number'
      ? [{ name: `publicación ${id}`, value, limit: typeof limit === 'number' ? limit : null, isMarked: !passed }]
      : [],
  );
  if (points.length < 2) return null;
  const hasLimit = points.some(({ limit }) => limit !== null);
  return (
    <Chart
      title={hasLimit ? 'Por publicación. La línea es lo permitido.' : 'Por publicación'}
      label={gateTitle(gate)}
      points={points}
      show={(value) => figure(gate, value)}
    />
  );
}

/** The same figures as the chart, as a table. */
export function PastGates({ gate, past }: { gate: string; past: readonly PastGate[] }) {
  if (past.length === 0) return <Empty>Ninguna publicación tiene este control.</Empty>;
  return (
    <Table
      label={`${gateTitle(gate)}, por publicación`}
      columns={[
        { name: 'Publicación' },
        { name: 'Vista' },
        { name: 'Hallado', isNumber: true },
        { name: 'Permitido', isNumber: true },
        { name: 'Resultado' },
        { name: 'Estado' },
      ]}
      stacked
    >
      {past.toReversed().map(({ id, detected_at, value, limit, passed, state }) => (
        <tr key={id}>
          <td class="first">
            <Link to={`/publicaciones/${id}`}>Publicación {number(id)}</Link>
          </td>
          <td>
            <span class="label">Vista </span>
            <Moment at={detected_at} />
          </td>
          <td class="number">
            <span class="label">Hallado </span>
            {figure(gate, value)}
          </td>
          <td class="number">
            <span class="label">Permitido </span>
            {figure(gate, limit)}
          </td>
          <td class="aside">{passed ? <Status tone="good">pasa</Status> : <Status tone="bad">no pasa</Status>}</td>
          <td>
            <PublicationStatus state={state} />
          </td>
        </tr>
      ))}
    </Table>
  );
}
