import { z } from 'zod';
import { type Correction, correctionOf } from '../../../pipelines/editions/corrections.ts';
import { type Edition, findEdition } from '../../../pipelines/editions/editions.ts';
import type { Pool } from '../../../pipelines/runtime/postgres.ts';
import { type Register, registers } from '../../../schemas/registers.ts';
import { listActs } from '../../operators/audit.ts';
import { editionSubject, republish } from '../../operators/decisions.ts';
import type { OperatorDependencies } from '../../operators/dependencies.ts';
import { notFound } from '../../problems.ts';
import { Form } from '../fields.tsx';
import { longDay, number } from '../formats.ts';
import { Facts, Link, Moment, Table } from '../parts.tsx';
import { decideIn, decision, mayDecide, numberIn, type OperatorPage } from './acting.ts';
import { Acts } from './audit.tsx';
import { EditionStep, registerIn } from './register.tsx';
import { CommandWords, Empty, registerTitles } from './words.tsx';

const maxActs = 20;

/** Returns the edition that a path names. @throws ApiProblem recurso_no_encontrado */
export async function editionOf(pool: Pool, params: Readonly<Record<string, string>>): Promise<Edition> {
  const register = registerIn(params.registro);
  const edition = await findEdition(pool, register, numberIn(params.numero, 'La edición'));
  if (edition === null) throw notFound('La edición');
  return edition;
}

export function editionPath({ register, number }: Pick<Edition, 'register' | 'number'>): string {
  return `/ediciones/${register}/${number}`;
}

/** `/ediciones/{registro}/{numero}`: its facts, its changes by column and kind, and what undid it. */
export function makeEditionPage({
  pool,
  wakePublish,
}: Pick<OperatorDependencies, 'pool' | 'wakePublish'>): OperatorPage {
  return {
    forms: {
      repetir: decision(z.strictObject({}), async (_, { params }, actor) => {
        const { register, number } = await editionOf(pool, params);
        await decideIn(pool, (client) => republish(client, actor, { register, number }));
        await wakePublish(register);
        return { to: `${editionPath({ register, number })}?hecho=repetida` };
      }),
    },
    done: {
      pedida: 'Se pidió deshacerla: será la próxima edición del registro.',
      repetida: 'Se envía otra vez a Kafka. Los avisos que ya salieron no se repiten.',
    },
    async show(request) {
      const { params } = request;
      const edition = await editionOf(pool, params);
      const [correction, acts] = await Promise.all([
        correctionOf(pool, edition.register, edition.number),
        listActs(pool, { subject: editionSubject(edition.register, edition.number), before: null }, maxActs),
      ]);
      return {
        title: `Edición ${edition.number} de ${registerTitles[edition.register]}`,
        body: (
          <>
            <p class="path">
              <Link to={`/registros/${edition.register}`}>{registerTitles[edition.register]}</Link>
            </p>
            <h1>Edición {number(edition.number)}</h1>
            {correction !== null && <Undone correction={correction} />}
            <EditionFacts edition={edition} />
            <h2>Cambios</h2>
            <Changes edition={edition} />
            <h2>Deshacer</h2>
            <Undo edition={edition} isUndone={correction !== null && correction.state !== 'rechazada'} />
            {mayDecide(request) && <Republish edition={edition} />}
            <h2>Qué se decidió</h2>
            {acts.length === 0 ? <Empty>Nadie decidió nada sobre ella.</Empty> : <Acts acts={acts} />}
          </>
        ),
      };
    },
  };
}

function Undone({ correction }: { correction: Correction }) {
  const { register, edition, state, state_reason, requested_by, reason } = correction;
  return (
    <p class="message warn">
      {edition === null ? (
        <>Se pidió deshacerla (estado: {state}). </>
      ) : (
        <>
          La deshizo la <Link to={editionPath({ register, number: edition })}>edición {number(edition)}</Link>.{' '}
        </>
      )}
      Lo pidió {requested_by}
      {reason !== null && `: ${reason}`}. {state_reason !== null && <CommandWords>{state_reason}</CommandWords>}
    </p>
  );
}

function EditionFacts({ edition }: { edition: Edition }) {
  const { register, publication_id, corrects, fecha_dato, detected_at, counts, change_file_sha256 } = edition;
  const figure = (name: string) => (typeof counts[name] === 'number' ? number(counts[name]) : '—');
  return (
    <Facts
      facts={[
        ['Paso', <EditionStep key="step" edition={edition} />],
        ['Datos del', longDay(fecha_dato)],
        ['Detectada', <Moment key="detected" at={detected_at} />],
        [
          'Viene de',
          publication_id !== null ? (
            <Link key="from" to={`/publicaciones/${publication_id}`}>
              publicación {number(publication_id)}
            </Link>
          ) : (
            <Link key="from" to={editionPath({ register, number: corrects ?? 0 })}>
              deshace la edición {number(corrects ?? 0)}
            </Link>
          ),
        ],
        ['Filas del registro', figure('stateRows')],
        ['Avisos calculados antes', figure('notices')],
        ['SHA-256 de los cambios', <code key="sha">{change_file_sha256}</code>],
      ]}
    />
  );
}

/** The parts of the counts that are shown. Counts of old editions may lack some. */
const kindSchema = z.object({
  inserted: z.number(),
  updated: z.number(),
  deleted: z.number(),
  changedByColumn: z.record(z.string(), z.number()),
});
const changedSchema = z.object({ changedByKind: z.object({ company: kindSchema, other: kindSchema }) });

const kindColumns = [
  { name: 'Empresas', isNumber: true },
  { name: 'Los demás', isNumber: true },
];

function Changes({ edition }: { edition: Edition }) {
  const found = changedSchema.safeParse(edition.counts).data?.changedByKind;
  if (edition.changes === 0) return <Empty>No cambió ninguna fila.</Empty>;
  if (found === undefined) return <Empty>{number(edition.changes)} cambios, sin cuenta por columna.</Empty>;
  const { company, other } = found;
  const operations = [
    { name: 'Aparecen', operation: 'c', company: company.inserted, other: other.inserted },
    { name: 'Cambian', operation: 'u', company: company.updated, other: other.updated },
    { name: 'Desaparecen', operation: 'd', company: company.deleted, other: other.deleted },
  ];
  const register: Register = registers[edition.register];
  const columns = register.columns.flatMap(({ name }) => {
    const counts = { company: company.changedByColumn[name] ?? 0, other: other.changedByColumn[name] ?? 0 };
    return counts.company + counts.other === 0 ? [] : [{ name, ...counts }];
  });
  return (
    <>
      <p class="quiet">Los números de empresas llevan a sus filas. Las de personas naturales no se muestran aquí.</p>
      <Table label="Filas por clase de cambio" columns={[{ name: 'Filas que' }, ...kindColumns]}>
        {operations.map(({ name, operation, company, other }) => (
          <CountRow key={operation} name={name} query={`operacion=${operation}`} {...{ edition, company, other }} />
        ))}
      </Table>
      <Table label="Cambios por columna" columns={[{ name: 'Columna' }, ...kindColumns]}>
        {columns.map(({ name, company, other }) => (
          <CountRow key={name} name={name} query={`columna=${name}`} {...{ edition, company, other }} isCode />
        ))}
      </Table>
    </>
  );
}

interface CountRowProps {
  edition: Edition;
  name: string;
  query: string;
  company: number;
  other: number;
  isCode?: boolean;
}

function CountRow({ edition, name, query, company, other, isCode = false }: CountRowProps) {
  return (
    <tr>
      <td>{isCode ? <code>{name}</code> : name}</td>
      <td class="number">
        {company === 0 ? '0' : <Link to={`${editionPath(edition)}/cambios?${query}`}>{number(company)}</Link>}
      </td>
      <td class="number">{number(other)}</td>
    </tr>
  );
}

/** Only an edition that ClickHouse should have and that does not arrive there needs this. */
function Republish({ edition: { publicada_at, materializada_at } }: { edition: Edition }) {
  if (publicada_at === null || materializada_at !== null) return null;
  return (
    <>
      <h2>Enviar otra vez</h2>
      <p>
        Sus filas están en Kafka y todavía no se sirven. Si en ClickHouse faltan filas, envíela otra vez: las que ya
        están no se duplican.
      </p>
      <Form name="repetir">
        <button type="submit" class="plain">
          Enviar otra vez a Kafka
        </button>
      </Form>
    </>
  );
}

function Undo({ edition, isUndone }: { edition: Edition; isUndone: boolean }) {
  if (isUndone) return <Empty>Ya se deshizo, o está por deshacerse.</Empty>;
  if (Number(edition.counts.baseline ?? 0) > 0)
    return <Empty>Escribió filas que no tenían nada antes: no hay a qué volver.</Empty>;
  return (
    <p>
      <Link to={`${editionPath(edition)}/deshacer`}>Ver qué se desharía</Link>, y qué quedaría como está, antes de
      decidir.
    </p>
  );
}
