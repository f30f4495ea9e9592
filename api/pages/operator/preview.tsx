import type { EventKind } from '../../../schemas/registers.ts';
import type { NamedCount, Preview } from '../../operators/preview.ts';
import { number } from '../formats.ts';
import { Code, Facts, Link, Table } from '../parts.tsx';
import { Empty } from './words.tsx';

export const eventNames: Readonly<Record<EventKind, string>> = {
  'ruc.estado_cambiado': 'Cambio de estado',
  'ruc.condicion_cambiada': 'Cambio de condición',
  'ruc.agente_retencion_cambiado': 'Agente de retención',
  'ruc.buen_contribuyente_cambiado': 'Buen contribuyente',
  'ruc.nombre_cambiado': 'Cambio de nombre',
  'ruc.alta': 'Alta',
  'ruc.baja': 'Baja',
};

/** What approving would send, by kind and customer. */
export function NoticePreview({ id, preview }: { id: number; preview: Preview }) {
  switch (preview.outcome) {
    case 'no_events':
      return <Empty>Este registro no hace avisos: aprobar no envía nada.</Empty>;
    case 'not_compared':
      return (
        <Empty>No se comparó con la edición vigente, así que no se sabe qué avisos haría. Aprobarla la compara.</Empty>
      );
    case 'no_archive':
      return (
        <Empty>
          Este proceso no tiene el archivo (ARCHIVE_URL y WORK_DIR): los avisos se cuentan con la línea de órdenes.
        </Empty>
      );
    case 'file_lost':
      return <Empty>El archivo de cambios no está o está dañado: los avisos no se pueden contar.</Empty>;
    case 'too_many':
      return (
        <>
          <p>Son demasiados cambios para contarlos en una página. La línea de órdenes los cuenta sin apuro:</p>
          <Code label="Orden que cuenta los avisos">{`npx padron publications notices ${id}`}</Code>
        </>
      );
    case 'counted':
      return <Counted preview={preview} />;
  }
}

function Counted({ preview: { counts, comparedWith, isCurrent } }: { preview: Preview & { outcome: 'counted' } }) {
  const sum = (name: 'events' | 'deliveries' | 'held') => counts.reduce((total, count) => total + count[name], 0);
  const customers = new Set(counts.map(({ accountId }) => accountId)).size;
  return (
    <>
      {!isCurrent && (
        <p class="message warn">
          Se comparó con la edición {number(comparedWith)}, que ya no es la vigente. Al aprobarla se compara de nuevo, y
          los avisos serán otros.
        </p>
      )}
      <Facts
        facts={[
          ['Eventos', number(sum('events'))],
          ['Entregas a webhooks', number(sum('deliveries'))],
          ['De ellas, retenidas por un webhook en pausa', number(sum('held'))],
          ['Clientes', number(customers)],
        ]}
      />
      {counts.length === 0 ? (
        <Empty>Aprobarla no enviaría ningún aviso: nadie vigila lo que cambió.</Empty>
      ) : (
        <>
          <ByKind counts={counts} />
          <ByCustomer counts={counts} />
        </>
      )}
    </>
  );
}

const figures = [
  { name: 'Eventos', isNumber: true },
  { name: 'Entregas', isNumber: true },
  { name: 'Retenidas', isNumber: true },
];

function ByKind({ counts }: { counts: readonly NamedCount[] }) {
  const kinds = [...new Set(counts.map(({ evento }) => evento))];
  return (
    <Table label="Avisos por clase" columns={[{ name: 'Clase' }, ...figures]} stacked>
      {kinds.map((kind) => {
        const own = counts.filter(({ evento }) => evento === kind);
        const sum = (name: 'events' | 'deliveries' | 'held') => own.reduce((total, count) => total + count[name], 0);
        return (
          <tr key={kind}>
            <td class="first wraps">
              <Kind kind={kind} />
            </td>
            <Figures events={sum('events')} deliveries={sum('deliveries')} held={sum('held')} />
          </tr>
        );
      })}
    </Table>
  );
}

/** Longest list of one page. The sums above it are of all. */
const maxShown = 200;

function ByCustomer({ counts }: { counts: readonly NamedCount[] }) {
  return (
    <>
      <Table label="Avisos por cliente y clase" columns={[{ name: 'Cliente' }, { name: 'Clase' }, ...figures]} stacked>
        {counts.slice(0, maxShown).map(({ accountId, account, evento, ...count }) => (
          <tr key={`${accountId} ${evento}`}>
            <td class="first wraps">
              <Link to={`/clientes/${accountId}`}>{account}</Link>
            </td>
            <td class="wraps">
              <Kind kind={evento} />
            </td>
            <Figures {...count} />
          </tr>
        ))}
      </Table>
      {counts.length > maxShown && <Empty>Y {number(counts.length - maxShown)} más, que están en las sumas.</Empty>}
    </>
  );
}

function Kind({ kind }: { kind: EventKind }) {
  return (
    <>
      {eventNames[kind]}
      <span class="quiet below">
        <code>{kind}</code>
      </span>
    </>
  );
}

function Figures({ events, deliveries, held }: Pick<NamedCount, 'events' | 'deliveries' | 'held'>) {
  const cells = [
    ['Eventos', events],
    ['Entregas', deliveries],
    ['Retenidas', held],
  ] as const;
  return (
    <>
      {cells.map(([name, value]) => (
        <td key={name} class="number">
          <span class="label">{name} </span>
          {number(value)}
        </td>
      ))}
    </>
  );
}
