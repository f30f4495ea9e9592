import { z } from 'zod';
import { isLost } from '../../../pipelines/archive/archive.ts';
import { CompareError } from '../../../pipelines/changes/errors.ts';
import { type ConflictReason, previewRevert, type RevertPreview } from '../../operators/conflicts.ts';
import { revert } from '../../operators/decisions.ts';
import type { OperatorDependencies } from '../../operators/dependencies.ts';
import { Form, TextField } from '../fields.tsx';
import { number } from '../formats.ts';
import { Facts, Link, Table } from '../parts.tsx';
import { decideIn, decision, mayDecide, type OperatorPage } from './acting.ts';
import { NoArchive } from './changes.tsx';
import { editionOf, editionPath } from './edition.tsx';
import { maxReason } from './register.tsx';
import { Empty, registerTitles } from './words.tsx';

/** A page must not wait longer for the later editions' change files. */
const previewTimeoutMs = 20_000;

export const conflictNames: Readonly<Record<ConflictReason, string>> = {
  changed_again: 'Cambió otra vez después',
  gone: 'Desapareció después',
  came_back: 'Volvió a aparecer después',
};

type Dependencies = Pick<OperatorDependencies, 'pool' | 'archive' | 'wakePublish'>;

/** `/ediciones/{registro}/{numero}/deshacer`: what undoing it would leave alone, and the order to undo it. */
export function makeRevertPage(dependencies: Dependencies): OperatorPage {
  const { pool, archive, wakePublish } = dependencies;
  return {
    forms: {
      deshacer: decision(
        z.strictObject({ motivo: z.string().max(maxReason) }),
        async ({ motivo }, { params }, actor) => {
          const { register, number } = await editionOf(pool, params);
          await decideIn(pool, (client) => revert(client, actor, { register, number }, motivo));
          await wakePublish(register);
          return { to: `${editionPath({ register, number })}?hecho=pedida` };
        },
      ),
    },
    async show(request) {
      const edition = await editionOf(pool, request.params);
      const preview = archive === null ? null : await previewOf({ pool, archive }, edition);
      return {
        title: `Deshacer la edición ${edition.number}`,
        body: (
          <>
            <p class="path">
              <Link to={editionPath(edition)}>
                Edición {number(edition.number)} de {registerTitles[edition.register]}
              </Link>
            </p>
            <h1>Deshacer la edición {number(edition.number)}</h1>
            <p>
              Nada se borra: se hace una edición nueva en la que cada fila vuelve a ser la de antes. Las entregas que no
              salieron se cancelan; a las que salieron las sigue otra que dice que es una corrección.
            </p>
            {archive === null ? <NoArchive /> : <Conflicts preview={preview} />}
            {mayDecide(request) && (
              <Form name="deshacer">
                <TextField
                  name="motivo"
                  label="Motivo"
                  hint="Queda con la corrección y en la auditoría."
                  maxLength={maxReason}
                  isRequired
                />
                <button type="submit">Deshacer la edición</button>
              </Form>
            )}
          </>
        ),
      };
    },
  };
}

/** Null when it is not known: too many changes, too slow, or a file that is lost. */
async function previewOf(
  { pool, archive }: { pool: Dependencies['pool']; archive: NonNullable<Dependencies['archive']> },
  edition: Awaited<ReturnType<typeof editionOf>>,
): Promise<RevertPreview | null> {
  const signal = AbortSignal.timeout(previewTimeoutMs);
  return previewRevert({ pool, archive }, edition, signal).catch((error: unknown) => {
    if (isLost(error) || error instanceof CompareError || (signal.aborted && error === signal.reason)) return null;
    throw error;
  });
}

function Conflicts({ preview }: { preview: RevertPreview | null }) {
  if (preview === null)
    return <p class="message warn">Los conflictos no se pueden contar aquí. La corrección los lista al hacerse.</p>;
  const { undone, conflicts, listed, later } = preview;
  const all = Object.values(conflicts).reduce((sum, count) => sum + count, 0);
  return (
    <>
      <Facts
        facts={[
          ['Filas que vuelven a ser las de antes', number(undone)],
          ['Filas que se quedan como están', number(all)],
          ['Ediciones posteriores', number(later)],
        ]}
      />
      <h2>Conflictos</h2>
      {all === 0 ? (
        <Empty>Ninguno: ninguna de sus filas cambió después.</Empty>
      ) : (
        <>
          <p>Estas filas cambiaron otra vez después, y la corrección no las toca.</p>
          <Table label="Conflictos por motivo" columns={[{ name: 'Motivo' }, { name: 'Filas', isNumber: true }]}>
            {(Object.keys(conflicts) as ConflictReason[]).map((reason) => (
              <tr key={reason}>
                <td>{conflictNames[reason]}</td>
                <td class="number">{number(conflicts[reason])}</td>
              </tr>
            ))}
          </Table>
          <Table label="Las primeras filas con conflicto" columns={[{ name: 'RUC' }, { name: 'Motivo' }]}>
            {listed.map(({ ruc, reason }, index) => (
              <tr key={index}>
                <td class="tabular">{ruc}</td>
                <td>{conflictNames[reason]}</td>
              </tr>
            ))}
          </Table>
        </>
      )}
    </>
  );
}
