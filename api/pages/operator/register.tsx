import { z } from 'zod';
import { type Edition, listEditions } from '../../../pipelines/editions/editions.ts';
import { type RegisterFreshness, readFreshness } from '../../../pipelines/editions/freshness.ts';
import { listPublications } from '../../../pipelines/editions/publications.ts';
import { inTransaction } from '../../../pipelines/runtime/postgres.ts';
import { isRegisterName, type RegisterName } from '../../../schemas/registers.ts';
import { pause, resume } from '../../operators/decisions.ts';
import type { OperatorDependencies } from '../../operators/dependencies.ts';
import { notFound } from '../../problems.ts';
import { Form, TextField } from '../fields.tsx';
import { longDay, number } from '../formats.ts';
import { Facts, Link, Moment, Table } from '../parts.tsx';
import { decision, mayDecide, type OperatorPage, orderIn } from './acting.ts';
import { Publications, RegisterState } from './registers.tsx';
import { CommandWords, Empty, registerTitles, Status } from './words.tsx';

const maxListed = 30;
/** Longest reason that a form takes, in characters. */
export const maxReason = 500;

export function registerIn(text: string | undefined): RegisterName {
  if (text === undefined || !isRegisterName(text)) throw notFound('El registro');
  return text;
}

type Dependencies = Pick<OperatorDependencies, 'pool' | 'now' | 'log' | 'wakePublish' | 'giveOrder'>;

/** `/registros/{registro}`: its publications and editions, and the pause. */
export function makeRegisterPage(dependencies: Dependencies): OperatorPage {
  const { pool, now, wakePublish } = dependencies;
  return {
    forms: {
      preguntar: decision(z.strictObject({}), async (_, { params }, actor) => {
        const register = registerIn(params.registro);
        return { to: `/registros/${register}?hecho=${await orderIn(dependencies, actor, register)}` };
      }),
      pausar: decision(z.strictObject({ motivo: z.string().max(maxReason) }), async ({ motivo }, { params }, actor) => {
        const register = registerIn(params.registro);
        await inTransaction(pool, (client) => pause(client, actor, register, motivo));
        return { to: `/registros/${register}?hecho=pausado` };
      }),
      reanudar: decision(z.strictObject({}), async (_, { params }, actor) => {
        const register = registerIn(params.registro);
        await inTransaction(pool, (client) => resume(client, actor, register));
        await wakePublish(register);
        return { to: `/registros/${register}?hecho=reanudado` };
      }),
    },
    done: {
      pedido: 'Se le pregunta ahora al sitio oficial. Lo nuevo aparece abajo en unos minutos.',
      en_cola: 'Ya se le estaba preguntando al sitio oficial. Se le pregunta otra vez cuando termine.',
      pausado: 'El registro está en pausa: no hace ediciones nuevas. Las descargas siguen.',
      reanudado: 'El registro hace ediciones de nuevo.',
    },
    async show(request) {
      const register = registerIn(request.params.registro);
      const [all, publications, editions] = await Promise.all([
        readFreshness(pool, now()),
        listPublications(pool, { register, state: null, maxRows: maxListed }),
        listEditions(pool, { register, maxRows: maxListed }),
      ]);
      const row = all.find((each) => each.register === register)!;
      return {
        title: registerTitles[register],
        body: (
          <>
            <p class="path">
              <Link to="/registros">Registros</Link>
            </p>
            <h1>{registerTitles[register]}</h1>
            <RegisterFacts row={row} />
            <p>
              <Link to={`/registros/${register}/historia`}>Cambios, rechazos y duraciones por edición</Link>
            </p>
            {mayDecide(request) && (
              <div class="act-row">
                <AskNow />
                <Pause row={row} />
              </div>
            )}
            <h2>Publicaciones</h2>
            <Publications publications={publications} label="Publicaciones del registro" />
            <h2>Ediciones</h2>
            <Editions editions={editions} />
          </>
        ),
      };
    },
  };
}

function RegisterFacts({ row }: { row: RegisterFreshness }) {
  const { register, edition, fecha_dato, published_at, rows, late } = row;
  return (
    <Facts
      facts={[
        ['Registro', <code key="register">{register}</code>],
        ['Estado', <RegisterState key="state" row={row} />],
        ...(late.length === 0 ? [] : [['Atraso', <CommandWords key="late">{late.join('; ')}</CommandWords>] as const]),
        ['Edición vigente', edition === 0 ? 'ninguna todavía' : number(edition)],
        ['Datos del', fecha_dato === null ? '—' : longDay(fecha_dato)],
        ['Publicada', published_at === null ? '—' : <Moment key="published" at={published_at} />],
        ['Filas', rows === null ? '—' : number(rows)],
      ]}
    />
  );
}

function AskNow() {
  return (
    <Form name="preguntar">
      <button type="submit" class="plain">
        Preguntar ahora al sitio oficial
      </button>
    </Form>
  );
}

function Pause({ row: { paused_at, paused_by, paused_reason } }: { row: RegisterFreshness }) {
  if (paused_at === null)
    return (
      <details>
        <summary>Poner en pausa</summary>
        <Form name="pausar">
          <TextField
            name="motivo"
            label="Motivo"
            hint="Se muestra mientras dura la pausa. Las descargas siguen, y una edición en camino se termina."
            maxLength={maxReason}
            isRequired
          />
          <button type="submit">Poner en pausa</button>
        </Form>
      </details>
    );
  return (
    <div class="message warn">
      <p>
        En pausa desde el <Moment at={paused_at} />, por {paused_by}
        {paused_reason !== null && `: ${paused_reason}`}.
      </p>
      <Form name="reanudar">
        <button type="submit">Reanudar</button>
      </Form>
    </div>
  );
}

const columns = [
  { name: 'Edición' },
  { name: 'Datos del' },
  { name: 'Detectada' },
  { name: 'Cambios', isNumber: true },
  { name: 'De' },
  { name: 'Paso' },
];

function Editions({ editions }: { editions: readonly Edition[] }) {
  if (editions.length === 0) return <Empty>Todavía no hay ediciones.</Empty>;
  return (
    <Table label="Ediciones del registro" columns={columns} stacked>
      {editions.map((edition) => (
        <tr key={edition.number}>
          <td class="first">
            <Link to={`/ediciones/${edition.register}/${edition.number}`}>Edición {number(edition.number)}</Link>
          </td>
          <td>
            <span class="label">Datos del </span>
            <span class="tabular">{longDay(edition.fecha_dato)}</span>
          </td>
          <td>
            <span class="label">Detectada </span>
            <Moment at={edition.detected_at} />
          </td>
          <td class="number">
            <span class="label">Cambios </span>
            {number(edition.changes)}
          </td>
          <td>
            {edition.publication_id === null ? (
              `deshace la ${edition.corrects}`
            ) : (
              <Link to={`/publicaciones/${edition.publication_id}`}>publicación {number(edition.publication_id)}</Link>
            )}
          </td>
          <td class="aside">
            <EditionStep edition={edition} />
          </td>
        </tr>
      ))}
    </Table>
  );
}

export function EditionStep({ edition }: { edition: Edition }) {
  if (edition.avisada_at !== null) return <Status tone="good">avisada</Status>;
  if (edition.materializada_at !== null) return <Status>servida, por avisar</Status>;
  if (edition.publicada_at !== null) return <Status>en Kafka, por servir</Status>;
  return <Status>congelada</Status>;
}
