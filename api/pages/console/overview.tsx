import { z } from 'zod';
import { type Capability, capabilities } from '../../../schemas/http/account.ts';
import { limaDay } from '../../../schemas/lima-time.ts';
import { toDate, toDayNumber } from '../../calendar/days.ts';
import type { ApiDependencies } from '../../dependencies.ts';
import { readDailyUse } from '../../metering/daily-use.ts';
import { notFound } from '../../problems.ts';
import { readSummary } from '../../routes/account.ts';
import { capabilityTexts } from '../admission.tsx';
import { browserName } from '../browser-name.ts';
import { Form } from '../fields.tsx';
import { longDay, number, share } from '../formats.ts';
import { type AccountRequest, form, type Page, type Redirect } from '../page.ts';
import { Facts, Moment, Table } from '../parts.tsx';
import { endSession, listSessions, type SessionSummary } from '../sessions/sessions.ts';
import { DailyUse, shownDays } from './daily-use.tsx';
import { RecentWatch, readRecent } from './watch/recent.tsx';

/** `/consola/resumen`: plan, use of the month and of each day, and the sessions of the account. */
export function makeOverviewPage(dependencies: Pick<ApiDependencies, 'pool' | 'now'>): Page<AccountRequest> {
  const { pool, now } = dependencies;
  return {
    forms: {
      terminar: form(z.strictObject({ sesion: z.uuid() }), async ({ sesion }, request: AccountRequest) => {
        const { session } = request;
        if (!(await endSession(pool, session.caller.accountId, sesion))) throw notFound('La sesión');
        return { to: sesion === session.id ? '/consola?hecho=salida' : '/consola/resumen?hecho=terminada' } as Redirect;
      }),
    },
    done: { terminada: 'La sesión se terminó.' },
    async show({ session }) {
      const { accountId } = session.caller;
      const today = limaDay(now());
      const [{ account, summary }, days, recent, sessions] = await Promise.all([
        readSummary(dependencies, session.caller),
        readDailyUse(pool, accountId, toDate(toDayNumber(today) - shownDays + 1), today),
        readRecent(pool, accountId),
        listSessions(pool, accountId),
      ]);
      return {
        title: 'Resumen',
        body: (
          <>
            <h1>{account.name}</h1>
            <Account summary={summary} />
            <h2>Uso por día</h2>
            <DailyUse days={days} quota={summary.cuota} today={today} />
            <RecentWatch recent={recent} />
            <h2>Sesiones abiertas</h2>
            <Sessions sessions={sessions} current={session.id} />
          </>
        ),
      };
    },
  };
}

type Summary = Awaited<ReturnType<typeof readSummary>>['summary'];

function Account({ summary: { plan, cuota, contrato_datos: contract, limites } }: { summary: Summary }) {
  const { limite, usada, saldo_prepago: prepaid, reinicia_en: restart } = cuota;
  return (
    <Facts
      facts={[
        [
          'Plan',
          <span key="plan" class="capital">
            {plan}
          </span>,
        ],
        [
          'Consultas de este mes',
          <>
            <span class="tabular">
              {number(usada)} de {number(limite)}
            </span>{' '}
            ({share(usada, limite)})
            <meter min={0} max={limite} value={Math.min(usada, limite)} aria-label="Parte usada de la cuota del mes" />
          </>,
        ],
        ['La cuota se reinicia', longDay(restart.slice(0, 10))],
        ['Saldo prepago', `${number(prepaid)} consultas`],
        ['Peticiones por minuto', `hasta ${number(limites.solicitudes_por_minuto)}`],
        [
          'Contrato de datos',
          contract === null
            ? 'No hay: solo se consultan empresas'
            : `${contract.referencia}, desde el ${longDay(contract.desde)}`,
        ],
      ]}
    />
  );
}

const columns = [{ name: 'Sesión' }, { name: 'Token' }, { name: 'Empezó' }, { name: 'Último uso' }, { name: 'Acción' }];

/** What a session that began with a link may do. */
function allowedText(allowed: readonly Capability[]): string {
  if (allowed.length === capabilities.length) return 'con todos los permisos';
  return `solo: ${allowed.map((each) => capabilityTexts[each]).join(', ')}`;
}

function Sessions({ sessions, current }: { sessions: readonly SessionSummary[]; current: string }) {
  return (
    <Table label="Sesiones abiertas" columns={columns} stacked>
      {sessions.map(({ id, name, browser, tokenId, capabilities: allowed, startedAt, lastUsedAt }) => (
        <tr key={id}>
          <td class="first wraps">
            <strong>{name ?? browserName(browser)}</strong> {id === current && <span class="badge">esta sesión</span>}
            {name !== null && <span class="quiet below">{browserName(browser)}</span>}
          </td>
          <td>
            <span class="label">Token </span>
            {tokenId === null ? 'enlace' : <code>pad_live_{tokenId.slice(0, 8)}…</code>}
            {allowed !== null && <span class="quiet below">{allowedText(allowed)}</span>}
          </td>
          <td>
            <span class="label">Empezó </span>
            <Moment at={startedAt} />
          </td>
          <td>
            <span class="label">Último uso </span>
            <Moment at={lastUsedAt} />
          </td>
          <td class="aside">
            <Form name="terminar" of={{ name: 'sesion', value: id }}>
              <button
                type="submit"
                class="plain small"
                aria-label={`Terminar la sesión ${name ?? browserName(browser)}`}
              >
                Terminar
              </button>
            </Form>
          </td>
        </tr>
      ))}
    </Table>
  );
}
