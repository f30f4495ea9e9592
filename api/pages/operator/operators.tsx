import { z } from 'zod';
import type { OperatorDependencies } from '../../operators/dependencies.ts';
import { listOperators, type Operator, revokeOperator } from '../../operators/operators.ts';
import { listOperatorSessions, type OperatorSessionSummary } from '../../operators/sessions.ts';
import { notFound } from '../../problems.ts';
import { browserName } from '../browser-name.ts';
import { Form, TextField } from '../fields.tsx';
import { Code, Moment, Table } from '../parts.tsx';
import { decision, mayDecide, type OperatorPage } from './acting.ts';
import { maxReason } from './register.tsx';
import { Empty, Status } from './words.tsx';

/** `/operadores`: who may come in, and who is in. */
export function makeOperatorsPage({ pool }: Pick<OperatorDependencies, 'pool'>): OperatorPage {
  return {
    forms: {
      quitar: decision(
        z.strictObject({ nombre: z.string(), motivo: z.string().max(maxReason) }),
        async ({ nombre, motivo }, { session }, actor) => {
          if (!(await revokeOperator(pool, actor, nombre, motivo))) throw notFound('El operador');
          return { to: nombre === session.name ? '/?hecho=salida' : '/operadores?hecho=quitado' };
        },
      ),
    },
    done: { quitado: 'El acceso terminó: sus sesiones y enlaces ya no sirven.' },
    async show(request) {
      const [operators, sessions] = await Promise.all([listOperators(pool), listOperatorSessions(pool)]);
      return {
        title: 'Operadores',
        body: (
          <>
            <h1>Operadores</h1>
            <Operators operators={operators} mayDecide={mayDecide(request)} />
            <h2>Sesiones abiertas</h2>
            <Sessions sessions={sessions} current={request.session.id} />
            <h2>Dar acceso</h2>
            <p>Un enlace de un solo uso lo hace la línea de órdenes, también para quien perdió el suyo:</p>
            <Code label="Orden que hace un enlace">npx padron operators link --name "Ana Ruiz" --role viewer</Code>
          </>
        ),
      };
    },
  };
}

function Operators({ operators, mayDecide }: { operators: readonly Operator[]; mayDecide: boolean }) {
  return (
    <Table
      label="Operadores"
      columns={[{ name: 'Nombre' }, { name: 'Rol' }, { name: 'Desde' }, { name: 'Acceso' }, { name: 'Acción' }]}
      stacked
    >
      {operators.map(({ id, name, role, created_at, revoked_at }) => (
        <tr key={id}>
          <td class="first wraps">
            <strong>{name}</strong>
          </td>
          <td>
            <code>{role}</code> {role === 'decider' ? 've y decide' : 've'}
          </td>
          <td>
            <span class="label">Desde </span>
            <Moment at={created_at} />
          </td>
          <td class="aside">{revoked_at === null ? <Status tone="good">sí</Status> : <Status>terminó</Status>}</td>
          <td>
            {mayDecide && revoked_at === null ? (
              <details>
                <summary>Quitar el acceso</summary>
                <Form name="quitar" of={{ name: 'nombre', value: name }}>
                  <TextField
                    name="motivo"
                    label={`Motivo para quitar el acceso a ${name}`}
                    maxLength={maxReason}
                    isRequired
                  />
                  <button type="submit" class="plain small">
                    Quitar
                  </button>
                </Form>
              </details>
            ) : (
              '—'
            )}
          </td>
        </tr>
      ))}
    </Table>
  );
}

function Sessions({ sessions, current }: { sessions: readonly OperatorSessionSummary[]; current: string }) {
  if (sessions.length === 0) return <Empty>No hay sesiones.</Empty>;
  return (
    <Table
      label="Sesiones abiertas"
      columns={[{ name: 'Operador' }, { name: 'Navegador' }, { name: 'Empezó' }, { name: 'Último uso' }]}
      stacked
    >
      {sessions.map(({ id, name, browser, startedAt, lastUsedAt }) => (
        <tr key={id}>
          <td class="first wraps">
            {name} {id === current && <span class="badge">esta sesión</span>}
          </td>
          <td class="wraps">{browserName(browser)}</td>
          <td>
            <span class="label">Empezó </span>
            <Moment at={startedAt} />
          </td>
          <td>
            <span class="label">Último uso </span>
            <Moment at={lastUsedAt} />
          </td>
        </tr>
      ))}
    </Table>
  );
}
