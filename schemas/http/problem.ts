import { z } from 'zod';
import { yearRange } from './envelope.ts';

/** Every error of the public API, by its stable code, with its HTTP status and title. */
export const problems = {
  peticion_mal_formada: { status: 400, title: 'La petición HTTP no está bien formada' },
  json_invalido: { status: 400, title: 'El cuerpo no es JSON válido' },
  parametro_invalido: { status: 400, title: 'Un parámetro no es válido' },
  parametro_desconocido: { status: 400, title: 'Hay un parámetro que esta operación no conoce' },
  ruc_formato: { status: 400, title: 'El RUC no tiene el formato correcto' },
  ruc_digito_verificador: { status: 400, title: 'El dígito verificador del RUC no es correcto' },
  fecha_invalida: { status: 400, title: 'La fecha no es válida' },
  ruc_no_admitido: { status: 400, title: 'Se pide el último dígito, no un RUC' },
  sin_token: { status: 401, title: 'Falta el token de acceso' },
  token_invalido: { status: 401, title: 'El token de acceso no es válido' },
  token_revocado: { status: 401, title: 'El token de acceso fue revocado' },
  contrato_requerido: { status: 403, title: 'Se requiere un contrato de tratamiento de datos' },
  plan_insuficiente: { status: 403, title: 'El plan no incluye esta operación' },
  formulario_rechazado: { status: 403, title: 'El formulario no se aceptó' },
  token_sandbox: { status: 403, title: 'El token de pruebas solo abre el calendario' },
  fecha_sin_datos: { status: 404, title: 'No hay datos de esa fecha' },
  ruc_no_encontrado: { status: 404, title: 'El RUC no figura en el padrón' },
  anio_no_disponible: { status: 404, title: 'El año no está disponible' },
  recurso_no_encontrado: { status: 404, title: 'El recurso no existe' },
  ruta_no_encontrada: { status: 404, title: 'La ruta no existe' },
  cursor_vencido: { status: 410, title: 'El cursor es más antiguo que lo conservado' },
  formato_no_disponible: { status: 406, title: 'La respuesta no existe en los formatos pedidos' },
  metodo_no_permitido: { status: 405, title: 'El método no está permitido en esta ruta' },
  peticion_incompleta: { status: 408, title: 'La petición no llegó completa a tiempo' },
  idempotencia_en_curso: { status: 409, title: 'Una petición con la misma clave está en curso' },
  nombre_en_uso: { status: 409, title: 'El nombre ya está en uso' },
  cuerpo_demasiado_grande: { status: 413, title: 'El cuerpo es demasiado grande' },
  tipo_no_admitido: { status: 415, title: 'El tipo de contenido no se admite' },
  rango_no_satisfacible: { status: 416, title: 'El archivo no tiene los bytes pedidos' },
  idempotencia_otro_cuerpo: { status: 422, title: 'La clave ya se usó con otro cuerpo' },
  solo_empresas: { status: 422, title: 'Solo se admiten RUC de empresas' },
  url_no_permitida: { status: 422, title: 'La URL no está permitida' },
  limite_excedido: { status: 422, title: 'Se excede un límite' },
  limite_por_minuto: { status: 429, title: 'Se alcanzó el límite de solicitudes por minuto' },
  cuota_agotada: { status: 429, title: 'Se agotó la cuota del mes y el saldo prepago' },
  demasiados_flujos: { status: 429, title: 'La cuenta tiene abiertos todos los flujos que admite' },
  demasiadas_descargas: { status: 429, title: 'La cuenta tiene en curso todas las descargas que admite' },
  cabeceras_demasiado_grandes: { status: 431, title: 'La dirección y las cabeceras son demasiado grandes' },
  error_interno: { status: 500, title: 'Error interno' },
  padron_no_disponible: { status: 503, title: 'El padrón aún no está disponible' },
  edicion_en_preparacion: { status: 503, title: 'El archivo de la edición se está preparando' },
  servicio_no_disponible: { status: 503, title: 'El servicio no está disponible en este momento' },
} as const;

export type ProblemCode = keyof typeof problems;

/** The error document of RFC 9457. `success` and `message` are added, because clients of other local APIs read them. */
export const problemDocument = z.strictObject({
  type: z.string().min(1),
  title: z.string().min(1),
  status: z.int().min(400).max(599),
  detail: z.string().min(1),
  instance: z.string(),
  success: z.literal(false),
  message: z.string().min(1),
  code: z.enum(Object.keys(problems) as [ProblemCode, ...ProblemCode[]]),
  request_id: z.string().min(1),
  encontrado: z.literal(false).optional(),
  meta: z
    .union([
      z.strictObject({ origen: z.string(), fecha_dato: z.iso.date() }),
      /** For fecha_sin_datos: the first day with data. */
      z.strictObject({ origen: z.string(), primera_fecha: z.iso.date() }),
      /** For anio_no_disponible: the years for which the operation has an answer. */
      z.strictObject({ cubre: yearRange }),
    ])
    .optional(),
  /** For cuota_agotada: how many look-ups the account has left. They are too few for the request. */
  disponible: z.int().min(0).optional(),
  /** For cursor_vencido: the oldest cursor that can still be used. All events after it are still stored. */
  cursor: z.string().optional(),
  /** For url_no_permitida: the kind of reason for which the URL was refused. */
  clase: z.string().optional(),
  errors: z.array(z.strictObject({ campo: z.string(), mensaje: z.string() })).optional(),
});
export type ProblemDocument = z.infer<typeof problemDocument>;
