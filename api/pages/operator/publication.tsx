import { z } from 'zod';
import { gateHistory, type PastGate } from '../../../pipelines/editions/past-figures.ts';
import { findPublication, type Publication } from '../../../pipelines/editions/publications.ts';
import { listActs, type RecordedAct } from '../../operators/audit.ts';
import { approve, publicationSubject, reject } from '../../operators/decisions.ts';
import type { OperatorDependencies } from '../../operators/dependencies.ts';
import { type Preview, previewPublication } from '../../operators/preview.ts';
import { isUnavailable, notFound } from '../../problems.ts';
import { Form, TextField } from '../fields.tsx';
import { longDay, number } from '../formats.ts';
import { Facts, Link, Moment } from '../parts.tsx';
import { decideIn, decision, mayDecide, numberIn, type OperatorPage } from './acting.ts';
import { Acts } from './audit.tsx';
import { GateChart, Gates, gateTitle, PastGates } from './gates.tsx';
import { NoticePreview } from './preview.tsx';
import { maxReason } from './register.tsx';
import { CommandWords, Empty, PublicationStatus, registerTitles } from './words.tsx';

type Dependencies = Pick<OperatorDependencies, 'pool' | 'archive' | 'now' | 'lastKnownRows' | 'wakePublish' | 'log'>;

/** Publications in a chart of one gate. Two months of a daily register. */
const pastPublications = 60;
const maxActs = 20;

const day = z.iso.date('escriba el día como AAAA-MM-DD');
const reason = z.string().max(maxReason);

async function publicationOf({ pool }: Pick<Dependencies, 'pool'>, text: string | undefined): Promise<Publication> {
  const publication = await findPublication(pool, numberIn(text, 'La publicación'));
  if (publication === null) throw notFound('La publicación');
  return publication;
}

/** `/publicaciones/{id}`: its gates, what approving it would send, and the decision. */
export function makePublicationPage(dependencies: Dependencies): OperatorPage {
  const { pool, wakePublish } = dependencies;
  return {
    forms: {
      aprobar: decision(
        z.strictObject({ motivo: reason, fecha: day.optional() }),
        async ({ motivo, fecha = null }, { params }, actor) => {
          const id = numberIn(params.id, 'La publicación');
          const approved = await decideIn(pool, (client) =>
            approve(client, actor, id, { reason: motivo, fechaDato: fecha }),
          );
          await wakePublish(approved.register);
          return { to: `/publicaciones/${id}?hecho=aprobada` };
        },
      ),
      rechazar: decision(z.strictObject({ motivo: reason }), async ({ motivo }, { params }, actor) => {
        const id = numberIn(params.id, 'La publicación');
        await decideIn(pool, (client) => reject(client, actor, id, { reason: motivo }));
        return { to: `/publicaciones/${id}?hecho=rechazada` };
      }),
    },
    done: {
      aprobada: 'Aprobada: se compara con la edición vigente y se publica, aunque sus controles no pasen.',
      rechazada: 'Rechazada: termina aquí.',
    },
    async show(request) {
      const publication = await publicationOf(dependencies, request.params.id);
      const { id, register, state } = publication;
      const isWaiting = state === 'en_cuarentena';
      const [history, acts, preview] = await Promise.all([
        gateHistory(pool, register, id, pastPublications),
        listActs(pool, { subject: publicationSubject(id), before: null }, maxActs),
        isWaiting ? previewOf(dependencies, publication) : null,
      ]);
      return {
        title: `Publicación ${id}`,
        body: (
          <PublicationBody
            {...{ publication, history, acts, preview }}
            isOpen={isWaiting && mayDecide(request)}
            isFailed={isWaiting && preview === null}
          />
        ),
      };
    },
  };
}

/** Without ClickHouse the count fails, and the decision is still possible. */
async function previewOf(dependencies: Dependencies, publication: Publication): Promise<Preview | null> {
  return previewPublication(dependencies, publication).catch((error: unknown) => {
    if (!isUnavailable(error)) throw error;
    dependencies.log.warn({ err: error, publication: publication.id }, 'the notices of a publication were not counted');
    return null;
  });
}

interface BodyProps {
  publication: Publication;
  history: ReadonlyMap<string, readonly PastGate[]>;
  acts: readonly RecordedAct[];
  preview: Preview | null;
  isOpen: boolean;
  isFailed: boolean;
}

function PublicationBody({ publication, history, acts, preview, isOpen, isFailed }: BodyProps) {
  const { id, register, state, state_reason } = publication;
  return (
    <>
      <p class="path">
        <Link to={`/registros/${register}`}>{registerTitles[register]}</Link>
      </p>
      <h1>Publicación {number(id)}</h1>
      {state === 'en_cuarentena' && (
        <p class="message warn">
          En cuarentena: los datos que se sirven siguen siendo los de la edición vigente.{' '}
          {state_reason !== null && <CommandWords>{state_reason}</CommandWords>}
        </p>
      )}
      <PublicationFacts publication={publication} />
      <h2>Controles</h2>
      <Gates publication={publication} history={history} />
      {preview !== null && (
        <>
          <h2>Avisos que enviaría al aprobarla</h2>
          <NoticePreview id={id} preview={preview} />
        </>
      )}
      {isFailed && (
        <>
          <h2>Avisos que enviaría al aprobarla</h2>
          <p class="message bad">ClickHouse no responde: no se pudieron contar. Recargue la página en un momento.</p>
        </>
      )}
      {isOpen && <Decision publication={publication} />}
      <h2>Qué se decidió</h2>
      {acts.length === 0 ? <Empty>Nadie decidió nada sobre ella.</Empty> : <Acts acts={acts} />}
    </>
  );
}

function PublicationFacts({ publication }: { publication: Publication }) {
  const { id, register, state, fecha_dato, published_at, detected_at, url, bytes, sha256 } = publication;
  const { rows, rejected, duplicates, edition, decided_by, removed_at } = publication;
  return (
    <Facts
      facts={[
        ['Estado', <PublicationStatus key="state" state={state} />],
        ['Datos del', fecha_dato === null ? 'sin fecha' : longDay(fecha_dato)],
        ['Publicada', published_at === null ? '—' : <Moment key="published" at={published_at} />],
        ['Vista', <Moment key="detected" at={detected_at} />],
        ['Dirección', url === null ? '—' : <code key="url">{url}</code>],
        ['Tamaño', bytes === null ? '—' : `${number(bytes)} bytes`],
        ['SHA-256', sha256 === null ? 'sin descargar' : <code key="sha">{sha256}</code>],
        ['Filas', rows === null ? '—' : number(rows)],
        [
          'Líneas rechazadas',
          rejected === null ? (
            '—'
          ) : (
            <Link key="rejected" to={`/publicaciones/${id}/rechazos`}>
              {number(rejected)}
            </Link>
          ),
        ],
        ['Repetidas', duplicates === null ? '—' : number(duplicates)],
        [
          'Edición',
          edition === null ? (
            '—'
          ) : (
            <Link key="edition" to={`/ediciones/${register}/${edition}`}>
              {number(edition)}
            </Link>
          ),
        ],
        ...(decided_by === null ? [] : [['Decidida por', decided_by] as const]),
        ...(removed_at === null ? [] : [['Fuera del archivo', <Moment key="removed" at={removed_at} />] as const]),
      ]}
    />
  );
}

function Decision({ publication: { fecha_dato } }: { publication: Publication }) {
  return (
    <>
      <h2>Decidir</h2>
      <div class="decisions">
        <section aria-labelledby="aprobar">
          <h3 id="aprobar">Aprobar</h3>
          <Form name="aprobar">
            <TextField name="motivo" label="Motivo" maxLength={maxReason} isRequired />
            <TextField
              name="fecha"
              label="Día de sus datos (si llegó sin fecha o con una equivocada)"
              type="date"
              hint={fecha_dato === null ? 'Llegó sin fecha.' : `Llegó con el ${longDay(fecha_dato)}.`}
            />
            <button type="submit">Aprobar</button>
          </Form>
        </section>
        <section aria-labelledby="rechazar">
          <h3 id="rechazar">Rechazar</h3>
          <Form name="rechazar">
            <TextField name="motivo" label="Motivo" maxLength={maxReason} isRequired />
            <button type="submit" class="plain">
              Rechazar para siempre
            </button>
          </Form>
        </section>
      </div>
    </>
  );
}

/** `/publicaciones/{id}/controles/{control}`: one figure over the register's last publications. */
export function makeGatePage({ pool }: Pick<OperatorDependencies, 'pool'>): OperatorPage {
  return {
    async show({ params }) {
      const { id, register } = await publicationOf({ pool }, params.id);
      const gate = params.control ?? '';
      const past = (await gateHistory(pool, register, id, pastPublications)).get(gate);
      if (past === undefined) throw notFound('El control');
      return {
        title: gateTitle(gate),
        body: (
          <>
            <p class="path">
              <Link to={`/publicaciones/${id}`}>Publicación {number(id)}</Link>
            </p>
            <h1>{gateTitle(gate)}</h1>
            <p>
              En las últimas {number(past.length)} publicaciones de {registerTitles[register]}.
            </p>
            <GateChart gate={gate} past={past} />
            <PastGates gate={gate} past={past} />
          </>
        ),
      };
    },
  };
}
