import { z } from 'zod';
import { readAttempts, readBodyOf, readDelivery } from '../../../../pipelines/webhooks/delivery-log.ts';
import type { ApiDependencies } from '../../../dependencies.ts';
import { maxShownAttempts } from '../../../routes/deliveries.ts';
import { Form, TextArea, TextField } from '../../fields.tsx';
import { type AccountRequest, accountPageWithQuery, form, type Page, type View } from '../../page.ts';
import { Link } from '../../parts.tsx';
import { diagnose, type Finding, type KnownDelivery, readHeaders } from './diagnose.ts';

const query = z.strictObject({ entrega: z.string().optional() });
const fields = z.strictObject({
  cabeceras: z.string(),
  cuerpo: z.string().optional(),
  secreto: z.string(),
  calculada: z.string().optional(),
});
type Fields = z.output<typeof fields>;

/** `/consola/firmas`: why a signature does not verify. What is pasted is neither stored nor logged. */
export function makeDoctorPage({ pool, now }: Pick<ApiDependencies, 'pool' | 'now'>): Page<AccountRequest> {
  return accountPageWithQuery({
    query,
    forms: {
      revisar: form(fields, async (values, { session, context }: AccountRequest<z.output<typeof query>>) => {
        const known = await findDelivery(session.caller.accountId, values.cabeceras);
        // The form's reader removes spaces at the ends, which here decide. So body and secret are taken as they came.
        const sent = new URLSearchParams(context.request.rawBody ?? '');
        const findings = diagnose({
          headers: values.cabeceras,
          body: withoutFormLineEnds(sent.get('cuerpo') ?? '', known?.body),
          secret: sent.get('secreto') ?? '',
          computed: values.calculada ?? null,
          known,
          nowSeconds: Math.floor(now().getTime() / 1_000),
        });
        return doctorView(findings, values);
      }),
    },
    show: ({ query: { values } }) => doctorView(null, presetOf(values?.entrega)),
  });

  async function findDelivery(accountId: number, headers: string): Promise<KnownDelivery | null> {
    const names = ['x-service-delivery', 'webhook-id'];
    const id = readHeaders(headers).find(({ name }) => names.includes(name))?.value ?? '';
    if (!/^[A-Za-z0-9_-]{1,64}$/.test(id)) return null;
    const delivery = await readDelivery(pool, accountId, id);
    if (delivery === null) return null;
    const [body, attempts] = await Promise.all([
      readBodyOf(pool, delivery),
      readAttempts(pool, delivery, maxShownAttempts),
    ]);
    return { body, attempts: attempts.map(({ startedAt }) => Math.floor(startedAt.getTime() / 1_000)) };
  }
}

/**
 * Browsers send every line end of a form as CR LF. A body that we sent has none, so they are only put back to LF where
 * the body that was sent does not have CR LF either.
 */
function withoutFormLineEnds(text: string, sent: string | undefined): string {
  return sent?.includes('\r\n') === true ? text : text.replaceAll('\r\n', '\n');
}

function presetOf(delivery: string | undefined): Pick<Fields, 'cabeceras'> {
  return {
    cabeceras:
      delivery === undefined ? '' : `X-Service-Delivery: ${delivery}\nX-Service-Timestamp: \nX-Service-Signature: `,
  };
}

const parts: Readonly<Record<Finding['part'], string>> = {
  id: 'Id de la entrega',
  momento: 'Momento',
  cuerpo: 'Cuerpo',
  firma: 'Firma',
  secreto: 'Secreto',
  cálculo: 'Su cálculo',
};
const states = { good: 'Bien', warn: 'Atención', bad: 'Mal' } as const;

function doctorView(findings: readonly Finding[] | null, values: Partial<Fields>): View {
  return {
    title: 'Revisar una firma',
    body: (
      <>
        <h1>Revisar una firma</h1>
        <p>
          Cuando su servidor rechaza un aviso porque la firma no coincide, pegue aquí lo que recibió. Nada de esto se
          guarda. Lo firmado es <code>{'{id}.{momento}.{cuerpo}'}</code>.
        </p>
        {findings !== null && <Findings findings={findings} />}
        <Form name="revisar">
          <TextArea
            name="cabeceras"
            label="Cabeceras recibidas"
            hint="Una por línea, como X-Service-Delivery: en_…"
            rows={6}
            value={values.cabeceras}
          />
          <TextArea
            name="cuerpo"
            label="Cuerpo recibido"
            hint="El que su código verifica, sin darle otro formato."
            rows={8}
            value={values.cuerpo}
          />
          <TextField
            name="secreto"
            label="Secreto que usa su servidor"
            type="password"
            hint="Empieza con whsec_."
            autocomplete="off"
            isRequired
          />
          <TextField
            name="calculada"
            label="Firma que calculó su código (opcional)"
            hint="Con ella se ve en qué paso del cálculo está la diferencia."
            autocomplete="off"
            isCode
            value={values.calculada}
          />
          <button type="submit">Revisar</button>
        </Form>
        <p class="quiet after">
          Código que verifica firmas: <Link to="/docs">documentación</Link>.
        </p>
      </>
    ),
  };
}

function Findings({ findings }: { findings: readonly Finding[] }) {
  const isRight = findings.every(({ state }) => state !== 'bad');
  return (
    <section class={`message ${isRight ? 'good' : 'bad'}`} aria-label="Resultado">
      <p>
        <strong>{isRight ? 'La firma coincide.' : 'La firma no coincide. Esto se encontró:'}</strong>
      </p>
      <ul>
        {findings.map(({ part, state, text }) => (
          <li key={`${part} ${text}`}>
            <strong>
              {parts[part]} — {states[state]}.
            </strong>{' '}
            {text}
          </li>
        ))}
      </ul>
    </section>
  );
}
