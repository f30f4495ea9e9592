import { z } from 'zod';
import type { ApiDependencies } from '../../dependencies.ts';
import { addressSubject } from '../../metering/minute-limits.ts';
import { fieldProblem } from '../../problems.ts';
import { Form, TextField } from '../fields.tsx';
import { type AccountRequest, accountPageWithQuery, form, type Page } from '../page.ts';
import { confirmedMinutes, confirmSession } from '../sessions/sessions.ts';
import { backTo, identifyTyped } from './sign-in.tsx';

const query = z.strictObject({ volver: z.string().optional() });

/** `/consola/confirmar`: the token again, before a secret is shown or changed and before something is deleted. */
export function makeConfirmPage({ pool, identify }: Pick<ApiDependencies, 'pool' | 'identify'>): Page<AccountRequest> {
  return accountPageWithQuery({
    query,
    forms: {
      confirmar: form(
        z.strictObject({ token: z.string() }),
        async ({ token }, request: AccountRequest<z.output<typeof query>>) => {
          const { session, context } = request;
          await context.state.countRequest(addressSubject(context.ip));
          const { accountId } = await identifyTyped(identify, token);
          if (accountId !== session.caller.accountId)
            throw fieldProblem('parametro_invalido', 'token', 'el token es de otra cuenta');
          await confirmSession(pool, session.id);
          return { to: backTo(request.query.values?.volver) };
        },
      ),
    },
    show: () => ({
      title: 'Confirme que es usted',
      body: (
        <>
          <h1>Confirme que es usted</h1>
          <p>
            Antes de mostrar o cambiar un secreto, y antes de borrar, se pide de nuevo un token de la cuenta. Vale{' '}
            {confirmedMinutes} minutos. Después vuelve a donde estaba: pulse ahí otra vez el botón.
          </p>
          <Form name="confirmar">
            <TextField name="token" label="Token" type="password" autocomplete="off" isRequired />
            <button type="submit">Confirmar</button>
          </Form>
        </>
      ),
    }),
  });
}
