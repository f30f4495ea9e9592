import { readFileSync } from 'node:fs';
import type { Operation } from '../operations.ts';

/** Python code that checks a notice's signature without a library. The documentation shows it, and a test runs it. */
export const pythonCheck = `import base64, hashlib, hmac, time

def verify_notice(body: bytes, headers, secret: str) -> None:
    delivery, timestamp = headers["X-Service-Delivery"], headers["X-Service-Timestamp"]
    if abs(time.time() - int(timestamp)) > 300:
        raise ValueError("the notice is older than five minutes")
    key = base64.b64decode(secret.removeprefix("whsec_"))
    signed = f"{delivery}.{timestamp}.".encode() + body
    expected = b"v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest())
    if not any(hmac.compare_digest(expected, one.encode()) for one in headers["X-Service-Signature"].split()):
        raise ValueError("the notice is not signed with this secret")`;

export const introduction = `Consultas, calendario tributario y avisos sobre los padrones públicos del RUC. No es una consulta en línea a
la autoridad: los padrones se descargan cada madrugada y cada respuesta da la fecha de su dato (\`meta.fecha_dato\`). Un 404 afirma
algo de una edición fechada; cuando falta un almacén la respuesta es 503, nunca «no encontrado».

## Acceso

Cada petición lleva \`Authorization: Bearer <token>\`. El token de pruebas \`pad_sandbox_publico\` abre el calendario, con datos
reales, y nada más. Las personas naturales (RUC 10, 15, 16 y 17) requieren un contrato de tratamiento de datos.

    # API: la dirección de este servicio
    curl -H 'Authorization: Bearer pad_sandbox_publico' $API/id/v1/calendario/2026-07-28
    curl -H 'Authorization: Bearer <token>' $API/id/v1/ruc/20990000019
    curl -H 'Authorization: Bearer <token>' -G --data-urlencode 'q=compañía' $API/id/v1/ruc/buscar

## Límites

| Plan | Consultas por mes | Peticiones por minuto | Abre |
|---|---|---|---|
| \`free\` | 100 | 30 | consulta de RUC, evaluación de proveedores |
| \`micro\` | 10,000 | 120 | además búsqueda, historial y lotes |
| \`crecimiento\` | 100,000 | 600 | además vigilancia y avisos |
| \`empresa\` | 1,000,000 | 3,000 | además las ediciones y sus archivos de cambios |

Son los planes de inicio; \`GET /id/v1/cuenta\` da los límites de la suya. Por minuto, en ventana fija y por cuenta, cuentan todas las
rutas; con el token de pruebas, 60 por dirección IP. Por mes calendario (hora de Lima) cuenta solo lo encontrado: los errores, lo no
encontrado, el calendario y la vigilancia son gratis. Las cabeceras \`RateLimit\` y \`RateLimit-Policy\` dicen lo que queda. Agotada la
cuota se usa el saldo prepago. Todo 429 lleva \`Retry-After\`: los segundos tras los que vale la pena repetir.

| Por petición o por cuenta | Hasta |
|---|---|
| RUC por lote | 100 |
| Cuerpo de una petición | 64 kB |
| Dirección y cabeceras de una petición, juntas | 16 kB |
| Tiempo en que llega una petición | 30 s |
| Resultados de una búsqueda | 1,000 |
| RUC agregados a una lista por petición, listas de un webhook | 1,000 |
| Listas, webhooks, RUC distintos vigilados | 1,000, 50, 100,000 |
| Flujos de eventos abiertos a la vez | 5 |
| Descargas de cambios a la vez | 8 |
| Se conservan los eventos, los intentos de entrega, las evaluaciones | 13 meses, 90 días, 5 años |

## Avisos firmados

Cuando una publicación cambia un RUC vigilado, la URL del webhook recibe un \`POST\` con estas cabeceras:

| Cabecera | Contenido |
|---|---|
| \`X-Service-Event\` | la clase del evento, la misma de \`evento\` en el cuerpo |
| \`X-Service-Delivery\` | el id de la entrega: el mismo en cada reintento, sirve para descartar repeticiones |
| \`X-Service-Timestamp\` | segundos desde 1970 en que se envió este intento |
| \`X-Service-Signature\` | \`v1,\` y en base64 el HMAC-SHA256 de \`{entrega}.{segundos}.{cuerpo}\`; durante un cambio de secreto, varias separadas por un espacio |

La clave son los bytes que siguen a \`whsec_\` en el secreto, decodificados de base64. Firme sobre el cuerpo tal como llegó, antes de
leerlo como JSON. \`webhook-id\`, \`webhook-timestamp\` y \`webhook-signature\` traen lo mismo, así que sirve cualquier biblioteca de
Standard Webhooks. Sin biblioteca, en Python:

\`\`\`python
${pythonCheck}
\`\`\`

Responda 2xx en menos de 15 segundos. Si no, se reintenta enseguida y a los 5 s, 5 min, 30 min, 2 h, 5 h, 10 h, 14 h, 20 h y 24 h; un
410 pausa el webhook. Un aviso llega al menos una vez y el orden no se garantiza: ordene por \`datos.fecha_dato\` y luego \`posicion\`.

## Errores

\`application/problem+json\` (RFC 9457) en español, con \`code\` estable y \`request_id\`; cada código se explica en [/errores](/errores). Un
parámetro o campo que la operación no conoce se rechaza con 400. Lo que no llega a ser una petición (\`peticion_mal_formada\`,
\`peticion_incompleta\`, \`cabeceras_demasiado_grandes\`) se responde y se cierra la conexión.

## Caché y versiones

Consultas, búsqueda e historial de empresas llevan \`ETag\` y \`Last-Modified\`: con \`If-None-Match\`, o con \`If-Modified-Since\` si aquella
no viene, se responde 304 cuando nada cambió. El calendario también, y cambia a medianoche de Lima. Use la \`ETag\` si puede: la fecha
tiene segundos enteros y falta mientras se carga una edición. \`HEAD\` se admite donde hay \`GET\`, salvo en la evaluación de
proveedores y en el flujo de eventos, y cuesta lo mismo. Los errores llevan \`no-store\`. Dentro de v1 solo se agrega: un cliente debe
aceptar campos nuevos en las respuestas.`;

export const tagTexts: Readonly<Record<Operation['tag'], string>> = {
  Contribuyentes: 'Registros, búsqueda, historial y evaluación de proveedores',
  Calendario: 'Feriados, días hábiles, plazos y vencimientos: gratis en todos los planes',
  Vigilancia: 'Listas de RUC, cambios detectados y avisos firmados',
  Ediciones: 'Cada publicación de un padrón y sus cambios como archivo, para el plan `empresa`',
  Cuenta: 'Plan, cuota y límites',
};

/** An operation's example: a request body and the answer to the request. */
export interface Example {
  body?: unknown;
  answer?: unknown;
}
export type Examples = Readonly<Record<string, Example>>;

/**
 * File with the documentation's examples, which are real requests and answers. The end-to-end tests repeat the requests
 * and compare the answers (`vitest -u` rewrites the file).
 */
export const examplesUrl = new URL('examples.json', import.meta.url);

export function readExamples(): Examples {
  return JSON.parse(readFileSync(examplesUrl, 'utf8')) as Examples;
}
