import { type ProblemCode, problems } from '../../schemas/http/problem.ts';
import { problemTexts } from './problem-texts.ts';

/** The pages that a person reads. All their text is ours: nothing of a request is written into them. */

const style = `body{font:16px/1.5 system-ui,sans-serif;max-width:46rem;margin:2rem auto;padding:0 1rem}
code{background:#eee;padding:.1em .3em;overflow-wrap:anywhere}td,th{text-align:left;padding:.3em 1em .3em 0;vertical-align:top}`;

function page(title: string, body: string): string {
  return `<!doctype html>
<html lang="es"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<title>${title}</title><style>${style}</style></head>
<body>${body}</body></html>
`;
}

export function problemPage(code: ProblemCode): string {
  const { status, title } = problems[code];
  const { cuando, remedio } = problemTexts[code];
  return page(
    `${code} · Padrón`,
    `<p><a href="../errores">Errores</a> · <a href="../docs">Documentación</a></p>
<h1>${title}</h1>
<p><code>${code}</code>, estado HTTP ${status}</p>
<h2>Cuándo ocurre</h2><p>${html(cuando)}</p>
<h2>Qué hacer</h2><p>${html(remedio)}</p>`,
  );
}

export function problemIndexPage(): string {
  const byStatus = Object.entries(problems).sort(([, one], [, other]) => one.status - other.status);
  const rows = byStatus.map(
    ([code, { status, title }]) =>
      `<tr><td>${status}</td><td><a href="errores/${code}"><code>${code}</code></a></td><td>${title}</td></tr>`,
  );
  return page(
    'Errores · Padrón',
    `<p><a href="docs">Documentación</a></p><h1>Errores</h1>
<p>Cada error es <code>application/problem+json</code> (RFC 9457) en español; <code>code</code> no cambia.</p>
<table><tr><th>Estado</th><th>Código</th><th>Título</th></tr>
${rows.join('\n')}</table>`,
  );
}

function html(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replace(/`([^`]+)`/g, '<code>$1</code>');
}
