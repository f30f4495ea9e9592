import { type ProblemCode, problems } from '../../schemas/http/problem.ts';
import { problemTexts } from './problem-texts.ts';

/** HTML pages for people. The pages contain no text of a request, so no input needs escaping. */

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

/** The page with Swagger UI in Spanish. It loads files only from this server and sends the document to nobody. */
export const documentationPage = `<!doctype html>
<html lang="es"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<title>Padrón · API</title><link rel="stylesheet" href="docs/swagger-ui.css">
<style>.swagger-ui .parameter__name.required::after{content:"obligatorio"}
.swagger-ui .response-col_links{display:none}.swagger-ui .info table{width:auto}.swagger-ui .info table tbody tr td,.swagger-ui .info table thead tr th{padding:.3em 1em .3em 0;vertical-align:top}
.swagger-ui .info pre{overflow-x:auto}.swagger-ui .info pre code{white-space:pre}
@media (max-width:40rem){.swagger-ui .wrapper{padding:0 .5rem}
.swagger-ui .opblock .opblock-summary{flex-wrap:wrap}.swagger-ui .opblock .opblock-summary-path{max-width:none}
.swagger-ui .info .markdown{overflow-x:auto}}</style></head>
<body><div id="api"></div><script src="docs/swagger-ui-bundle.js"></script><script src="docs/start.js"></script></body></html>
`;

/** Translations of Swagger UI's own texts, which exist only in English. A test compares each key with Swagger UI. */
export const spanishTexts: Readonly<Record<string, string>> = {
  Servers: 'Servidor',
  Authorize: 'Poner el token',
  'Available authorizations': 'Token de acceso',
  Authorized: 'Puesto',
  'Value:': 'Token:',
  'Name: ': 'Nombre: ',
  'In: ': 'En: ',
  Logout: 'Quitar',
  Close: 'Cerrar',
  'Try it out ': 'Probar',
  Cancel: 'Cancelar',
  Reset: 'Deshacer',
  Execute: 'Enviar',
  Clear: 'Borrar',
  Parameters: 'Parámetros',
  'No parameters': 'Sin parámetros',
  Name: 'Nombre',
  Description: 'Descripción',
  'Request body': 'Cuerpo de la petición',
  'Edit Value': 'Editar',
  'Send empty value': 'Enviar vacío',
  'Available values': 'Valores',
  'Default value': 'Por omisión',
  Responses: 'Respuestas',
  'Server response': 'Respuesta recibida',
  'Response body': 'Cuerpo',
  'Response headers': 'Cabeceras',
  'Request URL': 'Dirección',
  Download: 'Descargar',
  Code: 'Estado',
  Details: 'Detalle',
  'Media type': 'Tipo de contenido',
  'Controls ': 'Es la cabecera ',
  ' header.': '.',
  'Headers:': 'Cabeceras:',
  Type: 'Tipo',
  'Example Value': 'Ejemplo',
  Schema: 'Esquema',
  'Expand all': 'Abrir todo',
  'Collapse all': 'Cerrar todo',
  'Failed to load API definition.': 'No se pudo leer openapi.json. Vuelva a cargar la página.',
};

// The script translates each text when it appears, because Swagger UI renders again at every click.
export const documentationStart = `const texts = ${JSON.stringify(spanishTexts)};
const api = document.getElementById('api');
function translate(root) {
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  for (let node = root.nodeType === Node.TEXT_NODE ? root : walker.nextNode(); node; node = walker.nextNode())
    if (Object.hasOwn(texts, node.data) && !node.parentElement?.closest('pre,code,textarea')) node.data = texts[node.data];
}
new MutationObserver((changes) => {
  for (const { type, target, addedNodes } of changes)
    for (const node of type === 'characterData' ? [target] : addedNodes) translate(node);
}).observe(api, { childList: true, characterData: true, subtree: true });
SwaggerUIBundle({
  url: 'openapi.json', domNode: api, deepLinking: true, validatorUrl: null, persistAuthorization: false,
  defaultModelsExpandDepth: 0, syntaxHighlight: { activated: false },
});
`;
