import type { ProblemDocument } from '../../schemas/http/problem.ts';
import { problemTexts } from '../openapi/problem-texts.ts';
import type { ApiContext } from '../request.ts';
import { sendPage } from './answers.ts';
import type { Assets } from './assets.ts';
import { renderPage } from './layout.tsx';
import { Link, Marked } from './parts.tsx';
import { prefixOf, type Site } from './sessions/cookies.ts';
import { type Face, useSurroundings } from './surroundings.ts';

/**
 * Makes the function that answers an error with a page, where a browser asked for one. It returns false where the
 * problem's JSON is due: for programs, and on every path of the API. There a program may ask for `text/html` without
 * meaning it, as Java's standard client does.
 */
export function makeProblemPage(site: Site, assets: Assets, face: Face) {
  return (context: ApiContext, problem: ProblemDocument): boolean => {
    if (!wantsPage(context)) return false;
    const html = renderPage(
      { title: problem.title, body: <ProblemBody problem={problem} /> },
      {
        face,
        prefix: prefixOf(site),
        assets,
        path: context.path,
        formToken: null,
        refused: null,
        done: null,
        maySend: () => false,
        menu: [],
      },
    );
    sendPage(context, problem.status, html);
    return true;
  };
}

function wantsPage(context: ApiContext): boolean {
  if (/^\/(id\/|openapi\.json$)/.test(context.path)) return false;
  return context.accepts('application/problem+json', 'application/json', 'text/html') === 'text/html';
}

/** What an error says, and what to do about it. */
export function ProblemBody({
  problem: { code, title, detail, status, request_id: requestId },
}: {
  problem: ProblemDocument;
}) {
  const { sections } = useSurroundings().face;
  const isNoPage = code === 'ruta_no_encontrada';
  return (
    <article>
      <h1>{isNoPage ? 'La página no existe' : title}</h1>
      <p>{isNoPage ? 'Revise la dirección, o empiece en una de estas páginas.' : detail}</p>
      {!isNoPage && (
        <p>
          <Marked text={problemTexts[code].remedio} />
        </p>
      )}
      <p>
        <Link to="/">Inicio</Link>
        {sections.map(({ path, name }) => (
          <span key={path}>
            {' '}
            · <Link to={path}>{name}</Link>
          </span>
        ))}
      </p>
      <p class="quiet">
        Estado HTTP {status} · <code>{code}</code> · petición <code>{requestId}</code>
      </p>
    </article>
  );
}
