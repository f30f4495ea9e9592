import type { Recovery } from '../../../../pipelines/webhooks/recoveries.ts';
import { Form, TextField } from '../../fields.tsx';
import { longDay, number } from '../../formats.ts';
import { Link, Moment, Table } from '../../parts.tsx';
import { Empty } from '../words.tsx';
import { RecoveryState } from './backlog.tsx';

// The parts of a webhook's page about sending again what it did not get.

/** Forms that count, and that send again, what a webhook did not get. */
export function Recover() {
  return (
    <div class="decisions">
      <section aria-labelledby="contar">
        <h3 id="contar">Contar primero</h3>
        <Form name="contar">
          <TextField name="desde" label="Desde el día (Lima)" type="date" isRequired />
          <button type="submit" class="plain">
            Contar
          </button>
        </Form>
      </section>
      <section aria-labelledby="recuperar">
        <h3 id="recuperar">Reenviar lo que no recibió</h3>
        <Form name="recuperar">
          <TextField
            name="desde"
            label="Desde el día (Lima)"
            type="date"
            hint="Solo entregas agotadas o descartadas. Lo que una corrección retiró no se reenvía."
            isRequired
          />
          <button type="submit">Reenviar</button>
        </Form>
      </section>
    </div>
  );
}

export function Counted({ webhookId, desde, total }: { webhookId: string; desde: string; total: number }) {
  return (
    <>
      <p class="path">
        <Link to={`/entregas/${webhookId}`}>{webhookId}</Link>
      </p>
      <h1>Cuántas se reenviarían</h1>
      <p>
        Desde el {longDay(desde)}, hasta {number(total)} entregas. No se envió nada.
      </p>
      <p>
        <Link to={`/entregas/${webhookId}`}>Volver al webhook</Link>
      </p>
    </>
  );
}

interface RecoveriesProps {
  recoveries: readonly Recovery[];
  isOpen: boolean;
}

export function Recoveries({ recoveries, isOpen }: RecoveriesProps) {
  if (recoveries.length === 0) return <Empty>Ninguna.</Empty>;
  return (
    <Table
      label="Recuperaciones"
      columns={[
        { name: 'Pedida' },
        { name: 'Desde' },
        { name: 'Reenviadas', isNumber: true },
        { name: 'Estado' },
        { name: 'Acción' },
      ]}
      stacked
    >
      {recoveries.map(({ id, createdAt, from, resent, total, estado }) => (
        <tr key={id}>
          <td class="first">
            <Moment at={createdAt} />
          </td>
          <td>
            <span class="label">Desde </span>
            <Moment at={from} />
          </td>
          <td class="number">
            <span class="label">Reenviadas </span>
            {number(resent)} de {number(total)}
          </td>
          <td class="aside">
            <RecoveryState estado={estado} />
          </td>
          <td>
            {estado === 'en_curso' && isOpen ? (
              <Form name="cancelar" of={{ name: 'recuperacion', value: id }}>
                <button type="submit" class="plain small">
                  Detener
                </button>
              </Form>
            ) : (
              '—'
            )}
          </td>
        </tr>
      ))}
    </Table>
  );
}
