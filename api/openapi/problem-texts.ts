import type { ProblemCode } from '../../schemas/http/problem.ts';

/** Spanish texts about when a problem occurs and what the caller can do about it. */
interface ProblemText {
  cuando: string;
  remedio: string;
}

const repeat = 'Repita la petición después de los segundos que indica `Retry-After`.';

export const problemTexts: Readonly<Record<ProblemCode, ProblemText>> = {
  formato_no_disponible: {
    cuando: 'La cabecera Accept no admite ninguno de los formatos de la operación.',
    remedio: 'El detalle nombra los formatos. Sin Accept, o con `*/*`, llega el primero.',
  },
  rango_no_satisfacible: {
    cuando: 'Range empieza después del último byte del archivo, o pide sus últimos 0 bytes.',
    remedio: '`Content-Range: bytes */N` da el tamaño del archivo. Si ya tiene N bytes, lo tiene entero.',
  },
  demasiadas_descargas: {
    cuando: 'La cuenta ya tiene en curso todas las descargas que admite en este proceso.',
    remedio: 'Espere a que termine una o ciérrela, y repita después de los segundos que indica `Retry-After`.',
  },
  edicion_en_preparacion: {
    cuando:
      'El archivo se hace cuando alguien lo pide por primera vez, y todavía no está. No dice nada de su contenido.',
    remedio: 'Repita la petición después de los segundos que indica `Retry-After`. Se sigue preparando entretanto.',
  },
  peticion_mal_formada: {
    cuando:
      'Lo que llegó no es una petición HTTP/1.1: una línea mal escrita, una cabecera con caracteres que no admite, o falta Host.',
    remedio: 'Envíela con una biblioteca de HTTP. La conexión se cierra; `request_id` es de esta respuesta.',
  },
  json_invalido: {
    cuando: 'Falta el cuerpo de la petición o no es un objeto JSON bien escrito.',
    remedio: 'Envíe un objeto JSON en UTF-8 con Content-Type: application/json.',
  },
  parametro_invalido: {
    cuando:
      'Un parámetro o campo tiene un valor que la operación no admite, o falta uno obligatorio. También: la dirección trae ñ o tildes sin codificar.',
    remedio: '`errors` nombra cada campo y lo que se espera de él. Repetir la misma petición no sirve.',
  },
  parametro_desconocido: {
    cuando:
      'La petición trae un parámetro o campo que la operación no conoce. Nunca se ignora: un filtro mal escrito daría otra respuesta.',
    remedio: '`errors` nombra lo que sobra. Quítelo o corrija su nombre.',
  },
  ruc_formato: {
    cuando: 'El RUC no tiene 11 dígitos o no empieza con 10, 15, 16, 17 o 20.',
    remedio: 'Revise el número. No se consultó ni se cobró nada.',
  },
  ruc_digito_verificador: {
    cuando: 'El último dígito del RUC no corresponde a los diez anteriores: el número está mal escrito.',
    remedio: 'El detalle da el dígito esperado. Revise el número en su fuente en vez de solo cambiar el dígito.',
  },
  fecha_invalida: {
    cuando: 'La fecha no existe, no está escrita AAAA-MM-DD o es futura donde solo se admite el pasado.',
    remedio: 'Envíe un día del calendario; «hoy» es la fecha en Lima.',
  },
  ruc_no_admitido: {
    cuando: 'Se envió más de un carácter donde se pide el último dígito del RUC.',
    remedio:
      'Envíe solo el último dígito: un RUC que empieza con 10 contiene un documento de identidad. El valor no se guardó.',
  },
  sin_token: {
    cuando: 'Falta la cabecera Authorization.',
    remedio: 'Envíe Authorization: Bearer <token>. En el calendario sirve también el token de pruebas.',
  },
  token_invalido: {
    cuando: 'El token no existe, está incompleto o la cabecera no dice Bearer.',
    remedio: 'Copie el token completo, desde pad_live_ hasta el final.',
  },
  token_revocado: {
    cuando: 'El token se revocó.',
    remedio: 'Use otro token de la cuenta o pida uno nuevo.',
  },
  contrato_requerido: {
    cuando:
      'El RUC es de una persona natural (10, 15, 16, 17) y la cuenta no tiene un contrato de tratamiento de datos vigente. No dice si el RUC existe.',
    remedio: 'Firme el contrato de tratamiento de datos o consulte solo empresas.',
  },
  plan_insuficiente: {
    cuando: 'La operación no está incluida en el plan de la cuenta; el detalle nombra el plan necesario.',
    remedio: 'Cambie de plan o use las operaciones del suyo.',
  },
  formulario_rechazado: {
    cuando:
      'Solo en las páginas para personas: el formulario vino de otro sitio, de otra sesión, o su página ya no vale.',
    remedio: 'Vuelva a abrir la página y envíe el formulario de nuevo. Los programas usan la API con un token.',
  },
  token_sandbox: {
    cuando: 'El token de pruebas público se usó fuera del calendario.',
    remedio: 'Use el token de su cuenta.',
  },
  fecha_sin_datos: {
    cuando: 'Se pidió un registro en una fecha anterior a la primera edición cargada.',
    remedio: '`meta.primera_fecha` es el primer día que se puede pedir.',
  },
  ruc_no_encontrado: {
    cuando: 'El RUC es válido y no figura en la edición del padrón cuya fecha da `meta.fecha_dato`. No se cobra.',
    remedio: 'Un RUC recién inscrito aparece con la siguiente edición.',
  },
  anio_no_disponible: {
    cuando: 'El año está fuera de los que la operación cubre.',
    remedio: '`meta.cubre` da el primer y el último año.',
  },
  recurso_no_encontrado: {
    cuando: 'La lista, el webhook, la entrega, la recuperación o la consulta no existe, o es de otra cuenta.',
    remedio: 'Revise el id con la operación que los lista.',
  },
  ruta_no_encontrada: {
    cuando: 'La dirección no es de ninguna operación.',
    remedio: 'Compárela con las de la documentación.',
  },
  metodo_no_permitido: {
    cuando: 'La dirección existe y no admite ese método.',
    remedio: 'La cabecera Allow da los que admite.',
  },
  peticion_incompleta: {
    cuando: 'Las cabeceras y el cuerpo no llegaron completos en 30 segundos.',
    remedio: 'Repita la petición en una conexión nueva. Nada se consultó ni se cobró.',
  },
  idempotencia_en_curso: {
    cuando: 'Otra petición con la misma Idempotency-Key todavía se ejecuta.',
    remedio: 'Repita la misma petición en unos segundos: recibirá la respuesta de la primera.',
  },
  nombre_en_uso: {
    cuando: 'La cuenta ya tiene una lista con ese nombre.',
    remedio: 'Elija otro nombre o use la lista que ya existe.',
  },
  cursor_vencido: {
    cuando:
      'El cursor es anterior a lo que todavía se conserva: entre él y el primer evento que queda hubo otros que ya no se pueden dar.',
    remedio: 'Empiece de nuevo desde el cursor más antiguo que da la respuesta y compare con sus datos.',
  },
  cuerpo_demasiado_grande: {
    cuando: 'El cuerpo pasa de 64 kB.',
    remedio: 'Divida la petición.',
  },
  tipo_no_admitido: {
    cuando: 'El cuerpo no se envió como JSON en UTF-8, o se envió comprimido.',
    remedio: 'Envíe Content-Type: application/json, en UTF-8 y sin comprimir.',
  },
  idempotencia_otro_cuerpo: {
    cuando: 'La Idempotency-Key ya se usó en las últimas 24 horas con otro cuerpo.',
    remedio: 'Use una clave nueva para cada petición distinta.',
  },
  solo_empresas: {
    cuando: 'La operación es solo para empresas (RUC que empieza con 20).',
    remedio: 'Para una persona natural use la consulta de RUC, con contrato.',
  },
  url_no_permitida: {
    cuando: 'La URL del webhook no es HTTPS, usa otro puerto, no se resuelve o apunta a una red que no es pública.',
    remedio: 'El detalle dice qué regla no cumple; `clase` la nombra para programas.',
  },
  limite_excedido: {
    cuando:
      'La petición pasa de un límite: RUC por lote o por petición, listas de un webhook, listas, webhooks o RUC vigilados de la cuenta, recuperaciones en curso.',
    remedio: 'El detalle da el límite. No se guardó ni se cobró nada.',
  },
  limite_por_minuto: {
    cuando: 'La cuenta usó las solicitudes que su plan admite por minuto. La ventana es fija: empieza con cada minuto.',
    remedio: repeat,
  },
  cuota_agotada: {
    cuando:
      'La cuota del mes y el saldo prepago no alcanzan para lo pedido; `disponible` dice cuánto queda. No se consultó nada.',
    remedio: 'Espere al primer día del mes (hora de Lima), recargue saldo o cambie de plan.',
  },
  demasiados_flujos: {
    cuando: 'La cuenta ya tiene abiertos todos los flujos de eventos que se admiten a la vez.',
    remedio: 'Cierre uno o comparta el que tiene entre sus procesos.',
  },
  cabeceras_demasiado_grandes: {
    cuando: 'La dirección y las cabeceras pasan juntas de 16 kB.',
    remedio: 'Acorte los parámetros o quite cabeceras, por ejemplo cookies, que esta API no lee.',
  },
  error_interno: {
    cuando: 'El servicio falló de una manera no prevista.',
    remedio: 'Cite el `request_id` al reportarlo.',
  },
  padron_no_disponible: {
    cuando: 'Un padrón necesario todavía no se ha cargado. No dice nada sobre el RUC.',
    remedio: repeat,
  },
  servicio_no_disponible: {
    cuando: 'Una parte del servicio no responde. No dice nada sobre lo consultado y no se cobra.',
    remedio: repeat,
  },
};
