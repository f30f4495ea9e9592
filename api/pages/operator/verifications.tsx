import { z } from 'zod';
import { listReconciliations, type PastReconciliation } from '../../../pipelines/editions/freshness.ts';
import type { OperatorDependencies } from '../../operators/dependencies.ts';
import { Form } from '../fields.tsx';
import { number } from '../formats.ts';
import { Link, Moment, Table } from '../parts.tsx';
import { decision, mayDecide, type OperatorPage, orderIn } from './acting.ts';
import { Empty, registerTitles, Status } from './words.tsx';

const maxRuns = 100;

/** `/verificaciones`: comparisons of what is served with the archive. */
export function makeVerificationsPage(
  dependencies: Pick<OperatorDependencies, 'pool' | 'log' | 'giveOrder'>,
): OperatorPage {
  return {
    forms: {
      verificar: decision(z.strictObject({}), async (_, __, actor) => ({
        to: `/verificaciones?hecho=${await orderIn(dependencies, actor, 'verify')}`,
      })),
    },
    done: {
      pedido: 'La verificación empezó. Lee cada registro entero, así que tarda unos minutos.',
      en_cola: 'Ya había una verificación en curso. Otra empieza cuando termine.',
    },
    async show(request) {
      const runs = await listReconciliations(dependencies.pool, null, maxRuns);
      return {
        title: 'Verificaciones',
        body: (
          <>
            <h1>Verificaciones</h1>
            <p>
              Cada día se compara lo que se sirve con los archivos de cada registro, fila por fila. También se puede
              pedir ahora. <code>npx padron verify</code> lo hace en la línea de órdenes.
            </p>
            {mayDecide(request) && (
              <Form name="verificar">
                <button type="submit" class="plain">
                  Verificar ahora
                </button>
              </Form>
            )}
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
