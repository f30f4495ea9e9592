import { z } from 'zod';
import { isLost } from '../../../pipelines/archive/archive.ts';
import { findPublication } from '../../../pipelines/editions/publications.ts';
import type { OperatorDependencies } from '../../operators/dependencies.ts';
import { type Listed, nothingListed, readListed } from '../../operators/listed.ts';
import { notFound } from '../../problems.ts';
import { number } from '../formats.ts';
import { Code, Link, Table } from '../parts.tsx';
import { numberIn, type OperatorPage } from './acting.ts';
import { NoArchive } from './changes.tsx';
import { Empty } from './words.tsx';

const maxLines = 200;

/** The part of a publication's `compare_result` that is read here. The column is null before the comparison. */
const comparedSchema = z.object({
  rejectsSha256: z.string().nullable(),
  counts: z.object({ rejectedByReason: z.record(z.string(), z.number()) }),
});

const reasons: Readonly<Record<string, string>> = {
  too_long: 'Línea demasiado larga',
  ruc_format: 'El RUC no tiene la forma de uno',
  ruc_prefix: 'El RUC empieza con un prefijo que no existe',
  ruc_check_digit: 'El dígito verificador del RUC no corresponde',
  cell_count: 'Número de celdas equivocado',
  text_after_last_cell: 'Texto después de la última celda',
  control_byte: 'Byte de control, reemplazado por un espacio',
  other_cut: 'Fecha de corte distinta de la del archivo',
  duplicate: 'Línea repetida: solo vale la última',
  id_format: 'El código del proveedor no tiene la forma de uno',
};

/** `/publicaciones/{id}/rechazos`: lines that are no row, were repaired or repeated, as in `padron rejects`. */
export function makeRejectsPage({ pool, archive }: Pick<OperatorDependencies, 'pool' | 'archive'>): OperatorPage {
  return {
    async show({ params }) {
      const publication = await findPublication(pool, numberIn(params.id, 'La publicación'));
      if (publication === null) throw notFound('La publicación');
      const { id, register } = publication;
      const compared = comparedSchema.safeParse(publication.compare_result).data;
      const sha256 = compared?.rejectsSha256 ?? null;
      const listed =
        sha256 === null || archive === null
          ? nothingListed
          : await readListed(archive, register, sha256, maxLines).catch((error: unknown) => {
              if (isLost(error)) return null;
              throw error;
            });
      return {
        title: `Líneas rechazadas de la publicación ${id}`,
        body: (
          <>
            <p class="path">
              <Link to={`/publicaciones/${id}`}>Publicación {number(id)}</Link>
            </p>
            <h1>Líneas rechazadas</h1>
            <Counts counts={compared?.counts.rejectedByReason ?? null} />
            {sha256 !== null && archive === null && <NoArchive />}
            {listed === null ? (
              <p class="message bad">La lista no está en el archivo, o está dañada.</p>
            ) : (
              <Lines listed={listed} />
            )}
            <p class="quiet">Los RUC de personas naturales no se muestran enteros. Las líneas como se publicaron:</p>
            <Code label="Orden que muestra las líneas">{`npx padron rejects ${id} --raw`}</Code>
          </>
        ),
      };
    },
  };
}

function reasonName(reason: string) {
  return (
    <>
      {reasons[reason] ?? reason}
      <span class="quiet below">
        <code>{reason}</code>
      </span>
    </>
  );
}

function Counts({ counts }: { counts: Readonly<Record<string, number>> | null }) {
  if (counts === null) return <Empty>No se comparó, así que no se sabe nada de sus líneas.</Empty>;
  const found = Object.entries(counts)
    .filter(([, count]) => count > 0)
    .sort(([, one], [, other]) => other - one);
  if (found.length === 0) return <Empty>Ninguna línea rechazada, repetida ni reparada.</Empty>;
  return (
    <Table label="Líneas por motivo" columns={[{ name: 'Motivo' }, { name: 'Líneas', isNumber: true }]}>
      {found.map(([reason, count]) => (
        <tr key={reason}>
          <td class="wraps">{reasonName(reason)}</td>
          <td class="number">{number(count)}</td>
        </tr>
      ))}
    </Table>
  );
}

function Lines({ listed: { lines, omitted } }: { listed: Listed }) {
  if (lines.length === 0) return null;
  return (
    <>
      <Table label="Líneas" columns={[{ name: 'Línea', isNumber: true }, { name: 'RUC' }, { name: 'Motivo' }]} stacked>
        {lines.map(({ line, ruc, reason }, index) => (
          <tr key={index}>
            <td class="number first">
              <span class="label">Línea </span>
              {line === null ? '—' : number(line)}
            </td>
            <td class="tabular aside">{ruc ?? '—'}</td>
            <td class="wraps">{reasonName(reason)}</td>
          </tr>
        ))}
      </Table>
      {omitted > 0 && <Empty>Y {number(omitted)} más.</Empty>}
    </>
  );
}
