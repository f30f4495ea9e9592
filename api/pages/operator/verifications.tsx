import { listReconciliations, type PastReconciliation } from '../../../pipelines/editions/freshness.ts';
import type { OperatorDependencies } from '../../operators/dependencies.ts';
import { number } from '../formats.ts';
import { Code, Link, Moment, Table } from '../parts.tsx';
import type { OperatorPage } from './acting.ts';
import { Empty, registerTitles, Status } from './words.tsx';

const maxRuns = 100;

/** `/verificaciones`: comparisons of what is served with the archive. */
export function makeVerificationsPage({ pool }: Pick<OperatorDependencies, 'pool'>): OperatorPage {
  return {
    async show() {
      const runs = await listReconciliations(pool, null, maxRuns);
      return {
        title: 'Verificaciones',
        body: (
          <>
            <h1>Verificaciones</h1>
            <p>
              Cada día se compara lo que se sirve con los archivos de cada registro, fila por fila. La línea de órdenes
              lo hace cuando se pida:
            </p>
            <Code label="Orden que verifica">npx padron verify</Code>
            <Runs runs={runs} />
          </>
        ),
      };
    },
  };
}

const columns = [
  { name: 'Registro' },
  { name: 'Cuándo' },
  { name: 'Edición', isNumber: true },
  { name: 'Filas', isNumber: true },
  { name: 'Diferencias', isNumber: true },
  { name: 'Resultado' },
];

function Runs({ runs }: { runs: readonly PastReconciliation[] }) {
  if (runs.length === 0) return <Empty>Todavía no se verificó nada.</Empty>;
  return (
    <Table label="Verificaciones" columns={columns} stacked>
      {runs.map(({ id, register, checked_at, edition, rows, differences, equal }) => (
        <tr key={id}>
          <td class="first wraps">
            <Link to={`/registros/${register}`}>{registerTitles[register]}</Link>
          </td>
          <td>
            <Moment at={checked_at} />
          </td>
          <td class="number">
            <span class="label">Edición </span>
            <Link to={`/ediciones/${register}/${edition}`}>{number(edition)}</Link>
          </td>
          <td class="number">
            <span class="label">Filas </span>
            {number(rows)}
          </td>
          <td class="number">
            <span class="label">Diferencias </span>
            {number(differences)}
          </td>
          <td class="aside">{equal ? <Status tone="good">igual</Status> : <Status tone="bad">difiere</Status>}</td>
        </tr>
      ))}
    </Table>
  );
}
