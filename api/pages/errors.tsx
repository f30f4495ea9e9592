import { type ProblemCode, problems } from '../../schemas/http/problem.ts';
import { problemTexts } from '../openapi/problem-texts.ts';
import { notFound } from '../problems.ts';
import type { Page, PageRequest } from './page.ts';
import { Link, Marked, Table } from './parts.tsx';

// The catalogue of errors. The `type` of each problem is the address of its own page, and the list has an anchor for it.

const entries = (Object.entries(problems) as [ProblemCode, (typeof problems)[ProblemCode]][]).sort(
  ([, one], [, other]) => one.status - other.status,
);

/** `/errores` */
export const problemIndexPage: Page<PageRequest> = {
  show: () => ({
    title: 'Errores',
    body: (
      <>
        <h1>Errores</h1>
        <p class="intro">
          Cada error es <code>application/problem+json</code> (RFC 9457) en español. Su <code>code</code> no cambia: use
          ese campo en sus programas, y no el texto.
        </p>
        <Table
          label="Códigos de error"
          columns={[{ name: 'Estado' }, { name: 'Código' }, { name: 'Qué significa' }]}
          stacked
        >
          {entries.map(([code, { status, title }]) => (
            <tr key={code} id={code}>
              <td class="tabular aside">{status}</td>
              <td class="first">
                <Link to={`/errores/${code}`}>
                  <code>{code}</code>
                </Link>
              </td>
              <td>{title}</td>
            </tr>
          ))}
        </Table>
      </>
    ),
  }),
};

/** `/errores/{codigo}` */
export const problemPage: Page<PageRequest> = {
  show: ({ params: { codigo = '' } }) => {
    if (!isCode(codigo)) throw notFound('El código de error');
    const { status, title } = problems[codigo];
    const { cuando, remedio } = problemTexts[codigo];
    return {
      title,
      body: (
        <article>
          <p class="path">
            <Link to={`/errores#${codigo}`}>Errores</Link>
          </p>
          <h1>{title}</h1>
          <p>
            <code>{codigo}</code> · estado HTTP {status}
          </p>
          <h2>Cuándo ocurre</h2>
          <p>
            <Marked text={cuando} />
          </p>
          <h2>Qué hacer</h2>
          <p>
            <Marked text={remedio} />
          </p>
        </article>
      ),
    };
  },
};

function isCode(text: string): text is ProblemCode {
  return Object.hasOwn(problems, text);
}
