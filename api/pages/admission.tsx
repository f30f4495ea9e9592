import type { Pool } from '../../pipelines/runtime/postgres.ts';
import type { Capability } from '../../schemas/http/account.ts';
import { requireAccess } from '../access.ts';
import { accountSubject } from '../metering/minute-limits.ts';
import { ApiProblem, problemBody } from '../problems.ts';
import type { ApiContext } from '../request.ts';
import type { Admission, Answer, Redirect, View } from './page.ts';
import { ProblemBody } from './problem-page.tsx';
import { refusedForm } from './sessions/form-tokens.ts';
import type { ConsoleSession } from './sessions/sessions.ts';

// The one place that says whether a session may see a page of the console, and send its forms. The rules stand in the
// tables of pages.

/** Where the token is asked for again. */
export const confirmPath = '/consola/confirmar';

/** What each capability lets a person do, as a verb. */
export const capabilityTexts: Readonly<Record<Capability, string>> = {
  ver: 'ver todo lo de la cuenta',
  gestionar_webhooks: 'cambiar webhooks y listas',
  ver_secretos: 'crear y cambiar secretos de webhooks',
  reenviar: 'volver a enviar entregas',
  gestionar_tokens: 'crear y revocar tokens, enlaces y sesiones',
};

/** Makes the admission of the customers' console. */
export function makeAdmission(pool: Pool): Admission<ConsoleSession> {
  return {
    async admit(context, rules, session) {
      if (rules.isLookUp) await context.state.countRequest(accountSubject(session.caller));
      await requireAccess(session.caller, rules.plan, pool);
      return rules.isConfirmed && !session.isConfirmed ? confirmFirst(context) : null;
    },
    /** @throws ApiProblem formulario_rechazado, plan_insuficiente */
    async admitForm(context, rules, rule, session) {
      const missing = rule.needs.find((each) => !session.capabilities.includes(each));
      if (missing !== undefined)
        throw refusedForm(`Esta sesión se abrió con un enlace que no permite ${capabilityTexts[missing]}.`);
      await requireAccess(session.caller, rule.plan ?? rules.plan, pool);
      return (rule.isConfirmed ?? rules.isConfirmed) && !session.isConfirmed ? confirmFirst(context) : null;
    },
    has: (session, needs) => needs.every((each) => session.capabilities.includes(each)),
  };
}

function confirmFirst({ url }: ApiContext): Redirect {
  return { to: `${confirmPath}?${new URLSearchParams({ volver: url })}` };
}

/**
 * Shows an error below 500 as a page of the console, with its menu: what is not found, or a quota that is used up. An
 * error of 500 and above shows no menu, since its pages are probably away, too.
 */
export async function orProblem(context: ApiContext, show: () => Promise<Answer>): Promise<Answer> {
  try {
    return await show();
  } catch (error) {
    if (error instanceof ApiProblem && error.status < 500) return refusal(context, error);
    throw error;
  }
}

function refusal(context: ApiContext, problem: ApiProblem): View {
  context.set({ ...problem.headers });
  const document = problemBody(problem, { baseUrl: '', instance: '', requestId: context.state.requestId });
  return { title: document.title, status: problem.status, body: <ProblemBody problem={document} /> };
}
