import type { Operation } from './operation.ts';

/** What the documentation says before any route. Markdown. */
export const introduction = `Consultas, calendario tributario y avisos sobre los padrones públicos del RUC. No es una consulta en línea a
la autoridad: los padrones se descargan cada madrugada y cada respuesta da la fecha de su dato. Un 404 afirma algo de una
edición fechada; cuando falta un almacén la respuesta es 503, nunca «no encontrado».

**Acceso.** \`Authorization: Bearer <token>\`. El token de pruebas \`pad_sandbox_publico\` abre el calendario y nada más.

**Errores.** \`application/problem+json\` (RFC 9457) con \`code\` estable; cada código se explica en [/errores](/errores).

**Límites.** Por minuto, en ventana fija y por cuenta (con el token de pruebas, por dirección IP), cuentan todas las rutas; por mes
calendario (hora de Lima) y por cuenta, solo lo encontrado. Las cabeceras \`RateLimit\` y \`RateLimit-Policy\` dicen lo que queda.
Agotada la cuota se usa el saldo prepago. Todo 429 lleva \`Retry-After\`: los segundos tras los que vale la pena repetir.

**Caché.** \`HEAD\` se admite donde hay \`GET\`, salvo en la evaluación de proveedores, y cuesta lo mismo. Los errores llevan \`no-store\`.

**Desconocidos.** Un parámetro o campo que la operación no conoce se rechaza con 400.

**Versiones.** Dentro de v1 solo se agrega: un cliente debe aceptar campos nuevos en las respuestas.`;

export const tagTexts: Readonly<Record<Operation['tag'], string>> = {
  Contribuyentes: 'Registros, búsqueda, historial y evaluación de proveedores',
  Calendario: 'Feriados, días hábiles, plazos y vencimientos: gratis en todos los planes',
  Vigilancia: 'Listas de RUC, cambios detectados y avisos firmados',
  Cuenta: 'Plan, cuota y límites',
};
