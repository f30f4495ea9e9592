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
