import { Fragment } from 'preact';
import type { Page, PageRequest } from '../page.ts';
import { Link, Marked } from '../parts.tsx';
import type { Described, Documentation } from './described.ts';
import { Markdown } from './markdown.tsx';

/** `/docs`: the list of operations, and what holds for all of them. */
export function makeDocumentationPage(documentation: () => Documentation): Page<PageRequest> {
  return { show: () => ({ title: 'Documentación', body: <Index documentation={documentation()} /> }) };
}

function Index({ documentation: { introduction, tags, operations } }: { documentation: Documentation }) {
  const firstHeading = introduction.indexOf('\n## ');
  const headings = [...introduction.matchAll(/^## (.+)$/gm)].map(([, heading]) => heading!);
  return (
    <>
      <h1>Documentación</h1>
      <Markdown text={introduction.slice(0, firstHeading)} />
      <nav class="contents" aria-label="En esta página">
        <ul>
          <li>
            <a href="#operaciones">Operaciones</a>
          </li>
          {headings.map((heading) => (
            <li key={heading}>
              <a href={`#${idOf(heading)}`}>{heading}</a>
            </li>
          ))}
        </ul>
      </nav>
      <h2 id="operaciones">Operaciones</h2>
      <p>
        Cada una tiene su página, con código en curl, JavaScript y Python y un formulario para probarla. Para programas,
        el mismo contenido es el documento <Link to="/openapi.json">OpenAPI 3.1</Link>.
      </p>
      {tags.map(({ name, description }) => (
        <section key={name}>
          <h3>{name}</h3>
          <p class="quiet">{description}</p>
          <ul class="operations">
            {operations
              .filter(({ tag }) => tag === name)
              .map((operation) => (
                <Operation key={operation.name} operation={operation} />
              ))}
          </ul>
        </section>
      ))}
      <Markdown text={introduction.slice(firstHeading)} idOf={idOf} />
    </>
  );
}

function Operation({ operation: { name, method, path, summary } }: { operation: Described }) {
  return (
    <li>
      <Link to={`/docs/${name}`}>
        <Marked text={summary} />
      </Link>
      <Request method={method} path={path} />
    </li>
  );
}

/** Method and path, which may be broken at each slash. */
export function Request({ method, path }: { method: string; path: string }) {
  return (
    <code class="request">
      <span class="method">{method}</span>{' '}
      {path.split(/(?=\/)/).map((part) => (
        <Fragment key={part}>
          <wbr />
          {part}
        </Fragment>
      ))}
    </code>
  );
}

function idOf(heading: string): string {
  return heading
    .normalize('NFD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-');
}
