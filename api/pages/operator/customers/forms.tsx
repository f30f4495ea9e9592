import { z } from 'zod';
import { planNames } from '../../../accounts/accounts.ts';
import {
  credit,
  finishContract,
  isBeforeFirstDay,
  issueToken,
  openContract,
  revokeTokenBy,
  setEmail,
  setPlan,
} from '../../../operators/customers.ts';
import type { OperatorDependencies } from '../../../operators/dependencies.ts';
import { fieldProblem, notFound } from '../../../problems.ts';
import { Code, Link } from '../../parts.tsx';
import { decision, numberIn, requireFresh } from '../acting.ts';
import { maxReason } from '../register.tsx';

const reason = z.string().max(maxReason);
const day = z.iso.date('escriba el día como AAAA-MM-DD');
const reference = z.string().max(100);

/** Longest credit of one purchase, so that a slip of the finger is seen. */
const maxUnits = 100_000_000;

const wholeNumber = z
  .string()
  .regex(/^[1-9][0-9]{0,8}$/, 'escriba un número entero desde 1')
  .transform(Number)
  .refine((value) => value <= maxUnits, `hasta ${maxUnits}`);

type Dependencies = Pick<OperatorDependencies, 'pool' | 'now'>;

/** What operators do about a customer. The command `padron` does the same by the same functions. */
export function makeCustomerForms({ pool, now }: Dependencies) {
  const accountIn = (params: Readonly<Record<string, string>>) => numberIn(params.id, 'El cliente');
  const back = (id: number, done: string) => ({ to: `/clientes/${id}?hecho=${done}` });
  return {
    plan: decision(
      z.strictObject({ plan: z.string(), motivo: reason }),
      async ({ plan, motivo }, { params }, actor) => {
        const id = accountIn(params);
        if (!(await planNames(pool)).includes(plan)) throw fieldProblem('parametro_invalido', 'plan', 'no es un plan');
        if (!(await setPlan(pool, actor, id, plan, motivo))) throw notFound('El cliente');
        return back(id, 'plan');
      },
    ),
    correo: decision(
      z.strictObject({ correo: z.email('no es una dirección de correo').optional() }),
      async ({ correo = null }, { params }, actor) => {
        const id = accountIn(params);
        if (!(await setEmail(pool, actor, id, correo, null))) throw notFound('El cliente');
        return back(id, 'correo');
      },
    ),
    saldo: decision(
      z.strictObject({ unidades: wholeNumber, referencia: reference }),
      async ({ unidades, referencia }, { params }, actor) => {
        const id = accountIn(params);
        const outcome = await credit(pool, actor, id, { units: unidades, reference: referencia });
        if (outcome === 'no_account') throw notFound('El cliente');
        if (outcome === 'other_units')
          throw fieldProblem('parametro_invalido', 'referencia', 'ya se abonó con otro número de consultas');
        return back(id, outcome === 'credited' ? 'saldo' : 'saldo-repetido');
      },
    ),
    token: decision(z.strictObject({ motivo: reason }), async ({ motivo }, request, actor) => {
      requireFresh(request, now());
      const id = accountIn(request.params);
      const made = await issueToken(pool, actor, id, motivo);
      if (made === null) throw notFound('El cliente');
      return { title: 'Token nuevo', body: <NewToken accountId={id} token={made.token} /> };
    }),
    revocar: decision(
      z.strictObject({ token: z.string().max(100), motivo: reason }),
      async ({ token, motivo }, { params }, actor) => {
        const id = accountIn(params);
        if ((await revokeTokenBy(pool, actor, token, motivo)) === null) throw notFound('El token');
        return back(id, 'revocado');
      },
    ),
    contrato: decision(
      z.strictObject({ referencia: reference, desde: day, hasta: day.optional() }),
      async ({ referencia, desde, hasta = null }, { params }, actor) => {
        const id = accountIn(params);
        if (hasta !== null && hasta < desde)
          throw fieldProblem('parametro_invalido', 'hasta', 'es anterior al primero');
        const contract = { reference: referencia, from: desde, until: hasta };
        if ((await openContract(pool, actor, id, contract)) === null) throw notFound('El cliente');
        return back(id, 'contrato');
      },
    ),
    terminar: decision(
      z.strictObject({ contrato: wholeNumber, ultimo: day.optional(), motivo: reason }),
      async ({ contrato, ultimo = null, motivo }, { params }, actor) => {
        const id = accountIn(params);
        const ended = await finishContract(pool, actor, contrato, ultimo, motivo).catch((error: unknown) => {
          if (!isBeforeFirstDay(error)) throw error;
          throw fieldProblem('parametro_invalido', 'ultimo', 'es anterior al primer día del contrato');
        });
        if (ended === null) throw notFound('El contrato');
        return back(id, 'contrato-terminado');
      },
    ),
  };
}

export const customerDone = {
  plan: 'El plan cambió. Cada proceso lo sabe en 5 segundos.',
  correo: 'La dirección de los avisos operativos cambió.',
  saldo: 'El saldo prepago se abonó.',
  'saldo-repetido': 'Esa referencia ya se había abonado: no se agregó nada.',
  revocado: 'El token ya no sirve.',
  contrato: 'El contrato se agregó.',
  'contrato-terminado': 'El contrato terminó, o terminará ese día.',
} as const;

function NewToken({ accountId, token }: { accountId: number; token: string }) {
  return (
    <>
      <p class="path">
        <Link to={`/clientes/${accountId}`}>Cliente {accountId}</Link>
      </p>
      <h1>Token nuevo</h1>
      <p class="message warn">Guárdelo ahora: no se muestra otra vez. Solo queda un resumen (hash) de él.</p>
      <Code label="Token">{token}</Code>
    </>
  );
}
