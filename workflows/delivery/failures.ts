import type { NetworkFailure } from '../../pipelines/runtime/egress/failure.ts';

/** Why an attempt failed, as customers read it: classes, so that the attempt log is no port scanner. */
export type AttemptFailure =
  | 'direccion_no_permitida'
  | 'nombre_no_resuelto'
  | 'sin_conexion'
  | 'conexion_interrumpida'
  | 'tiempo_agotado'
  | 'certificado_vencido'
  | 'certificado_no_confiable'
  | 'certificado_de_otro_nombre'
  | 'tls_fallido'
  | 'respuesta_ilegible'
  | 'redireccion'
  | 'estado_http'
  /** The worker died between sending and recording. */
  | 'resultado_desconocido';

const shown: Readonly<Record<NetworkFailure, AttemptFailure>> = {
  malformed: 'direccion_no_permitida',
  scheme: 'direccion_no_permitida',
  userinfo: 'direccion_no_permitida',
  port: 'direccion_no_permitida',
  own_host: 'direccion_no_permitida',
  address_not_allowed: 'direccion_no_permitida',
  name_not_resolved: 'nombre_no_resuelto',
  connect_timeout: 'sin_conexion',
  no_connection: 'sin_conexion',
  connection_lost: 'conexion_interrumpida',
  timeout: 'tiempo_agotado',
  certificate_expired: 'certificado_vencido',
  certificate_untrusted: 'certificado_no_confiable',
  certificate_wrong_name: 'certificado_de_otro_nombre',
  tls_failed: 'tls_fallido',
  answer_malformed: 'respuesta_ilegible',
};

export function failureOfNetwork(failure: NetworkFailure): AttemptFailure {
  return shown[failure];
}

/** null for a success: any 2xx. */
export function failureOfStatus(status: number): AttemptFailure | null {
  if (status >= 200 && status < 300) return null;
  return status >= 300 && status < 400 ? 'redireccion' : 'estado_http';
}
