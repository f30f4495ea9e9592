import { z } from 'zod';
import { listActs, type RecordedAct } from '../../operators/audit.ts';
import type { OperatorDependencies } from '../../operators/dependencies.ts';
import { browserName } from '../browser-name.ts';
import { Filters, TextField } from '../fields.tsx';
import { limaMoment } from '../formats.ts';
import { Link, Moment, Table } from '../parts.tsx';
import { type OperatorPage, operatorPageWithQuery } from './acting.ts';
import { Empty } from './words.tsx';

const maxActs = 50;

const query = z.strictObject({
  sobre: z.string().max(200).optional(),
  antes: z
    .string()
    .regex(/^[1-9][0-9]{0,14}$/, 'no es un número')
    .transform(Number)
    .optional(),
});

/** `/auditoria`: who did what, about what, why, with the values before and after. */
export function makeAuditPage({ pool }: Pick<OperatorDependencies, 'pool'>): OperatorPage {
  return operatorPageWithQuery({
    query,
    async show({ query: { values, ...filled } }) {
      const filter = { subject: values?.sobre ?? null, before: values?.antes ?? null };
      const acts = values === null ? [] : await listActs(pool, filter, maxActs + 1);
      const shown = acts.slice(0, maxActs);
      const more = new URLSearchParams({ ...(filter.subject && { sobre: filter.subject }) });
      more.set('antes', String(shown.at(-1)?.id ?? ''));
      return {
        title: 'Auditoría',
        body: (
          <>
            <h1>Auditoría</h1>
            <p>
              Cada acto de un operador, en esta consola o por la línea de órdenes. Nada de esto se cambia ni se borra.
            </p>
            <Filters filled={filled}>
              <TextField name="sobre" label="Sobre" hint="Por ejemplo «publication 7»." type="search" />
              <button type="submit">Filtrar</button>
            </Filters>
            <Acts acts={shown} />
            {acts.length > maxActs && (
              <p>
                <Link to={`/auditoria?${more}`}>Anteriores</Link>
              </p>
            )}
          </>
        ),
      };
    },
  });
}

const columns = [{ name: 'Cuándo' }, { name: 'Quién' }, { name: 'Qué' }, { name: 'Por qué' }, { name: 'Qué cambió' }];

/** Acts as they were recorded, the newest first. */
export function Acts({ acts }: { acts: readonly RecordedAct[] }) {
  if (acts.length === 0) return <Empty>No hay actos.</Empty>;
  return (
    <Table label="Actos de operadores" columns={columns} stacked>
      {acts.map(({ id, at, who, way, act, subject, reason, before, after }) => (
        <tr key={id}>
          <td class="first">
            <Moment at={at} />
          </td>
          <td class="wraps">
            {who}
            {way === 'command' && <span class="quiet below">línea de órdenes</span>}
          </td>
          <td class="wraps">
            <code>{act}</code>
            <span class="quiet below">{subject}</span>
          </td>
          <td class="wraps">
            <span class="label">Por qué </span>
            {reason ?? '—'}
          </td>
          <td class="wraps">
            <span class="label">Qué cambió </span>
            <Values before={before} after={after} />
          </td>
        </tr>
      ))}
    </Table>
  );
}

/** Values that stay as they were are left out. */
function Values({ before, after }: Pick<RecordedAct, 'before' | 'after'>) {
  const names = [...new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})])];
  const rows = names.flatMap((name) => {
    const [old, now] = [textOf(name, before?.[name]), textOf(name, after?.[name])];
    return old === now ? [] : [{ name, old, now }];
  });
  if (rows.length === 0) return <>—</>;
  return (
    <ul class="values">
      {rows.map(({ name, old, now }) => (
        <li key={name}>
          <code>{name}</code> {old !== null && `${old} → `}
          {now ?? 'nada'}
        </li>
      ))}
    </ul>
  );
}

const instant = /^\d{4}-\d{2}-\d{2}T[\d:.]+Z$/;

/** Returns null where there is, or was, nothing. */
function textOf(name: string, value: unknown): string | null {
  if (value === null || value === undefined) return null;
  const text = String(value);
  if (name === 'browser') return browserName(text);
  return instant.test(text) ? limaMoment(new Date(text)) : text;
}
