import { z } from 'zod';
import type { HistoryEntry } from '../../../../schemas/http/history.ts';
import type { ApiDependencies } from '../../../dependencies.ts';
import { makeHistoryHandlers } from '../../../routes/history.ts';
import { longDay } from '../../formats.ts';
import { type AccountRequest, accountPageWithQuery, type Page } from '../../page.ts';
import { Link } from '../../parts.tsx';
import { fieldLabel, registerNamesShown, shownValue } from '../words.ts';
import { CompanyMenu } from './company.tsx';

const query = z.strictObject({ cursor: z.string().optional() });
const entriesPerPage = 50;

/** `/consola/empresas/{ruc}/historial`: what each edition of each register changed, as a time line. */
export function makeHistoryPage(dependencies: ApiDependencies): Page<AccountRequest> {
  const { verHistorial } = makeHistoryHandlers(dependencies);
  return accountPageWithQuery({
    query,
    async show({ context, params, query: { values } }) {
      const ruc = params.ruc ?? '';
      const wanted = { limite: entriesPerPage, cursor: values?.cursor };
      const { data, meta } = await verHistorial({ params: { ruc }, query: wanted, body: undefined }, context);
      const path = `/consola/empresas/${ruc}/historial`;
      return {
        title: `Historial del RUC ${ruc}`,
        body: (
          <>
            <h1>Historial del RUC {ruc}</h1>
            <CompanyMenu ruc={ruc} />
            <TimeLine entries={data} />
            {meta.cursor !== null && (
              <p>
                <Link to={`${path}?${new URLSearchParams({ cursor: meta.cursor })}`} class="button">
                  Ver lo anterior
                </Link>
              </p>
            )}
          </>
        ),
      };
    },
  });
}

function TimeLine({ entries }: { entries: readonly HistoryEntry[] }) {
  if (entries.length === 0)
    return <p>Este RUC no ha cambiado desde que este servicio lee los padrones. La consulta no se cobró.</p>;
  return (
    <ol class="timeline">
      {editionsOf(entries).map(({ key, day, register, changes }) => (
        <li key={key}>
          <h2>
            <time dateTime={day}>{longDay(day)}</time>
            <span class="quiet">· {registerNamesShown[register]}</span>
          </h2>
          <ul>
            {changes.map((entry) => (
              <li key={entry.campo}>
                <Change entry={entry} />
              </li>
            ))}
          </ul>
        </li>
      ))}
    </ol>
  );
}

function Change({ entry: { operacion, campo, antes, despues, correccion } }: { entry: HistoryEntry }) {
  const presence = operacion === 'alta' && campo === 'ruc' ? 'Apareció en el padrón' : 'Dejó de figurar en el padrón';
  return (
    <>
      {campo === 'ruc' ? (
        presence
      ) : (
        <>
          <strong>{fieldLabel(campo)}</strong>: <del>{shownValue(antes)}</del> <span aria-hidden="true">→</span>{' '}
          <ins>{shownValue(despues)}</ins>
        </>
      )}
      {correccion !== null && (
        <span class="badge">
          corrige la edición {correccion.edicion} del {longDay(correccion.fecha_dato)}
        </span>
      )}
    </>
  );
}

interface EditionChanges {
  key: string;
  day: string;
  register: HistoryEntry['registro'];
  changes: HistoryEntry[];
}

/** Puts what one edition changed together. The order stays, which is the newest first. */
function editionsOf(entries: readonly HistoryEntry[]): EditionChanges[] {
  const editions: EditionChanges[] = [];
  for (const entry of entries) {
    const { fecha_dato: day, registro: register } = entry;
    const last = editions.at(-1);
    // Two editions of a day can change a field twice. Then each has an item of its own.
    const goesOn =
      last !== undefined &&
      last.day === day &&
      last.register === register &&
      !last.changes.some(({ campo }) => campo === entry.campo);
    if (goesOn) last.changes.push(entry);
    else editions.push({ key: `${day} ${register} ${editions.length}`, day, register, changes: [entry] });
  }
  return editions;
}
