import { z } from 'zod';
import { findChanges } from '../../../pipelines/changes/find-changes.ts';
import type { Change } from '../../../pipelines/changes/record.ts';
import type { Edition } from '../../../pipelines/editions/editions.ts';
import { isCompany, rucLength } from '../../../schemas/ruc.ts';
import type { OperatorDependencies } from '../../operators/dependencies.ts';
import { type Evidence, evidenceOf, type RawLine } from '../../operators/evidence.ts';
import { notFound } from '../../problems.ts';
import { number, share } from '../formats.ts';
import { Code, Link, Table } from '../parts.tsx';
import { type OperatorPage, operatorPageWithQuery } from './acting.ts';
import { editionOf, editionPath } from './edition.tsx';
import { Empty, registerTitles } from './words.tsx';

const maxChanges = 50;
/** The change file of a full edition has every row, and takes seconds. */
const searchTimeoutMs = 20_000;

const query = z.strictObject({
  operacion: z.enum(['c', 'u', 'd']).optional(),
  columna: z.string().max(60).optional(),
  desde: z
    .string()
    .regex(/^[0-9]{1,12}$/, 'no es un número')
    .transform(Number)
    .optional(),
});

type Dependencies = Pick<OperatorDependencies, 'pool' | 'archive' | 'lines'>;

/** `/ediciones/{registro}/{numero}/cambios`: the companies that an edition changed, by column and kind of change. */
export function makeChangesPage({ pool, archive, lines }: Dependencies): OperatorPage {
  return operatorPageWithQuery({
    query,
    async show({ params, query: { values } }) {
      const edition = await editionOf(pool, params);
      const { operacion = null, columna = null, desde = 0 } = values ?? {};
      const heading = <Heading edition={edition} title={titleOf(operacion, columna)} />;
      if (archive === null)
        return {
          title: 'Cambios',
          body: (
            <>
              {heading}
              <NoArchive />
            </>
          ),
        };
      const name = { register: edition.register, kind: 'changes', sha256: edition.change_file_sha256 } as const;
      const filter = { operation: operacion, column: columna, ruc: null, after: desde };
      const signal = AbortSignal.timeout(searchTimeoutMs);
      const { changes, next } = await findChanges(await archive.localFile(name), filter, maxChanges, signal);
      lines?.prepare(edition).catch(() => undefined);
      const more = new URLSearchParams({ ...(operacion && { operacion }), ...(columna && { columna }) });
      more.set('desde', String(next));
      return {
        title: 'Cambios',
        body: (
          <>
            {heading}
            {changes.length === 0 ? (
              <Empty>Ninguna empresa.</Empty>
            ) : (
              <Changes edition={edition} changes={changes} column={columna} />
            )}
            {next !== null && (
              <p>
                <Link to={`${editionPath(edition)}/cambios?${more}`}>Siguientes</Link>
              </p>
            )}
          </>
        ),
      };
    },
  });
}

function titleOf(operation: 'c' | 'u' | 'd' | null, column: string | null): string {
  if (column !== null) return `Empresas en que cambió ${column}`;
  if (operation === null) return 'Empresas que cambiaron';
  return { c: 'Empresas que aparecen', u: 'Empresas que cambian', d: 'Empresas que desaparecen' }[operation];
}

function Heading({ edition, title }: { edition: Edition; title: string }) {
  return (
    <>
      <p class="path">
        <Link to={editionPath(edition)}>
          Edición {number(edition.number)} de {registerTitles[edition.register]}
        </Link>
      </p>
      <h1>{title}</h1>
    </>
  );
}

export function NoArchive() {
  return (
    <p class="message warn">
      Este proceso no tiene el archivo: faltan <code>ARCHIVE_URL</code> y <code>WORK_DIR</code>.
    </p>
  );
}

interface ChangesProps {
  edition: Edition;
  changes: readonly Change[];
  column: string | null;
}

const operations: Readonly<Record<Change['op'], string>> = { r: 'igual', c: 'aparece', u: 'cambia', d: 'desaparece' };

function Changes({ edition, changes, column }: ChangesProps) {
  const cells = column === null ? [{ name: 'Cambió' }] : [{ name: 'Antes' }, { name: 'Después' }];
  return (
    <Table label="Empresas que cambiaron" columns={[{ name: 'RUC' }, { name: 'Fila' }, ...cells]} stacked>
      {changes.map(({ ruc, op, before, after }) => (
        <tr key={ruc}>
          <td class="first tabular">
            <Link to={`${editionPath(edition)}/cambios/${ruc}`}>{ruc}</Link>
          </td>
          <td class="aside">{operations[op]}</td>
          {column === null ? (
            <td class="wraps">{changedColumns(before, after).join(', ') || '—'}</td>
          ) : (
            [before, after].map((row, index) => (
              <td key={index === 0 ? 'before' : 'after'} class="wraps">
                <span class="label">{index === 0 ? 'Antes ' : 'Después '}</span>
                {row?.[column] || '—'}
              </td>
            ))
          )}
        </tr>
      ))}
    </Table>
  );
}

function changedColumns(before: Change['before'], after: Change['after']): string[] {
  if (before === null || after === null) return [];
  return Object.keys(after).filter((name) => (before[name] ?? '') !== after[name]);
}

/** `/ediciones/{registro}/{numero}/cambios/{ruc}`: one company's row before and after, and both lines as published. */
export function makeEvidencePage({ pool, archive, lines }: Dependencies): OperatorPage {
  return {
    async show({ params }) {
      const edition = await editionOf(pool, params);
      const ruc = params.ruc ?? '';
      // The lines of natural persons have their names.
      if (!/^[0-9]+$/.test(ruc) || ruc.length !== rucLength || !isCompany(ruc)) throw notFound('La empresa');
      const hasFiles = archive !== null && lines !== null;
      const evidence = hasFiles ? await evidenceOf({ pool, archive, lines }, edition, ruc) : null;
      if (hasFiles && evidence === null) throw notFound('El cambio de esta empresa');
      return {
        title: `${ruc} en la edición ${edition.number}`,
        body: (
          <>
            <Heading edition={edition} title={ruc} />
            {evidence === null ? <NoArchive /> : <EvidenceBody evidence={evidence} />}
          </>
        ),
      };
    },
  };
}

function EvidenceBody({ evidence: { change, before, after } }: { evidence: Evidence }) {
  const names = Object.keys(change.after ?? change.before ?? {});
  const changed = new Set(changedColumns(change.before, change.after));
  return (
    <>
      <p>
        La fila {operations[change.op]}
        {change.line !== null && `, en la línea ${number(change.line)} del archivo`}.
      </p>
      <h2>Las dos líneas, como se publicaron</h2>
      <Line title="Antes" line={before} />
      <Line title="Después" line={after} />
      <h2>La fila, columna por columna</h2>
      <Table
        label="La fila antes y después"
        columns={[{ name: 'Columna' }, { name: 'Antes' }, { name: 'Después' }]}
        stacked
      >
        {names.map((name) => (
          <tr key={name} class={changed.has(name) ? 'changed' : undefined}>
            <td class="first">
              <code>{name}</code> {changed.has(name) && <span class="badge">cambió</span>}
            </td>
            <td class="wraps">
              <span class="label">Antes </span>
              {change.before?.[name] || '—'}
            </td>
            <td class="wraps">
              <span class="label">Después </span>
              {change.after?.[name] || '—'}
            </td>
          </tr>
        ))}
      </Table>
    </>
  );
}

function Line({ title, line }: { title: string; line: RawLine }) {
  return (
    <section>
      <h3>
        {title}
        {line.outcome !== 'no_file' && (
          <>
            {' · '}
            <Link to={`/publicaciones/${line.publicationId}`}>publicación {number(line.publicationId)}</Link>
          </>
        )}
      </h3>
      {line.outcome === 'found' ? (
        <Code label={`Línea publicada: ${title}`}>{line.text}</Code>
      ) : (
        <Missing line={line} />
      )}
    </section>
  );
}

const missing = {
  absent: 'El archivo no tiene ninguna línea de este RUC.',
  removed: 'El archivo ya no se guarda: terminó su plazo.',
  lost: 'El archivo no está, o está dañado.',
  no_file: 'No viene de un archivo.',
} as const;

function Missing({ line }: { line: Exclude<RawLine, { outcome: 'found' }> }) {
  if (line.outcome !== 'reading') return <Empty>{missing[line.outcome]}</Empty>;
  return (
    <p class="message">
      Se está leyendo el archivo entero{line.part !== null && <>: va el {share(line.part, 1)}</>}. Recargue la página en
      unos segundos.
    </p>
  );
}
