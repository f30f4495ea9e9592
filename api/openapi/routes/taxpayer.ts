import { batchAnswer, batchRequest } from '../../../schemas/http/batch.ts';
import { historyAnswer, historyQuery } from '../../../schemas/http/history.ts';
import { searchAnswer, searchQuery } from '../../../schemas/http/search.ts';
import { supplierAnswer, supplierQuery } from '../../../schemas/http/supplier.ts';
import { taxpayerAnswer, taxpayerQuery } from '../../../schemas/http/taxpayer.ts';
import type { Operation } from '../operation.ts';
import { checkParameter, idempotencyHeader, rucParameter } from '../parameters.ts';

const tag = 'Contribuyentes';
const ofRuc = ['ruc_formato', 'ruc_digito_verificador', 'contrato_requerido', 'ruc_no_encontrado'] as const;

export const taxpayerOperations = {
  buscarEmpresas: {
    method: 'get',
    path: '/id/v1/ruc/buscar',
    tag,
    summary: 'Busca empresas por su razón social',
    description:
      'Solo empresas (RUC 20). No distingue acentos, signos ni la forma societaria; tolera errores de tipeo cuando lo demás no llena la página. Hasta 1,000 resultados por consulta. Los parámetros `estado`, `condicion` y `ubigeo` filtran.',
    access: 'micro',
    charge: 'Una página con contenido cuenta una consulta; una página vacía, nada.',
    query: searchQuery,
    status: 200,
    schema: searchAnswer,
    keeping: 'revalidated',
    problems: ['padron_no_disponible'],
  },
  consultarRuc: {
    method: 'get',
    path: '/id/v1/ruc/{ruc}',
    tag,
    summary: 'El registro de un contribuyente',
    description:
      'Cada campo viene de su propio padrón y `meta` da la fecha de cada uno. Un valor que el padrón no trae es `null`. Con `fecha`, como era ese día. Las personas naturales (RUC 10, 15, 16 y 17) requieren un contrato de tratamiento de datos.',
    access: 'free',
    charge: 'Un registro encontrado cuenta una consulta; uno no encontrado, nada.',
    parameters: rucParameter,
    query: taxpayerQuery,
    status: 200,
    schema: taxpayerAnswer,
    keeping: 'revalidated',
    problems: [...ofRuc, 'fecha_invalida', 'fecha_sin_datos', 'padron_no_disponible'],
  },
  verHistorial: {
    method: 'get',
    path: '/id/v1/ruc/{ruc}/historial',
    tag,
    summary: 'Lo que cada publicación cambió de un contribuyente',
    description: 'Lo más reciente primero: qué campo, de qué padrón, en qué fecha, de qué valor a cuál.',
    access: 'micro',
    charge: 'Una página con contenido cuenta una consulta; una página vacía, nada.',
    parameters: rucParameter,
    query: historyQuery,
    status: 200,
    schema: historyAnswer,
    keeping: 'revalidated',
    problems: [...ofRuc, 'padron_no_disponible'],
  },
  consultarLote: {
    method: 'post',
    path: '/id/v1/ruc/batch',
    tag,
    summary: 'Hasta 100 registros en una llamada',
    description:
      'Una entrada por cada RUC enviado, en el mismo orden. `encontrado` es `true`, `false` (no figura en la edición indicada) o `null` (no se consultó: `codigo` dice por qué). Los repetidos cuentan una vez.',
    access: 'micro',
    charge: 'Cada RUC distinto encontrado cuenta una consulta. Si el lote no cabe en la cuota, no se consulta nada.',
    headers: idempotencyHeader,
    body: batchRequest,
    status: 200,
    schema: batchAnswer,
    keeping: 'never',
    problems: [
      'limite_excedido',
      'idempotencia_en_curso',
      'idempotencia_otro_cuerpo',
      'padron_no_disponible',
      'contrato_requerido',
    ],
  },
  evaluarProveedor: {
    method: 'get',
    path: '/id/v1/proveedor/{ruc}',
    tag,
    summary: 'Evaluación de un proveedor, con constancia',
    description:
      'El registro, las listas de la autoridad tributaria, las inhabilitaciones para contratar con el Estado, si ya lo vigila y advertencias, en una respuesta que se conserva cinco años. Solo empresas. `inhabilitado_al` es el día en que se juzgan las inhabilitaciones (por omisión, hoy).',
    access: 'free',
    charge: 'Un registro encontrado cuenta una consulta; uno no encontrado, nada.',
    parameters: rucParameter,
    query: supplierQuery,
    status: 200,
    schema: supplierAnswer,
    keeping: 'never',
    isGetOnly: true,
    problems: [...ofRuc, 'fecha_invalida', 'solo_empresas', 'padron_no_disponible'],
  },
  verConsultaDeProveedor: {
    method: 'get',
    path: '/id/v1/proveedor/consultas/{consulta_id}',
    tag,
    summary: 'Una evaluación ya hecha, tal como se dio',
    description: 'Los mismos bytes, sin costo, a la misma cuenta.',
    access: 'free',
    parameters: checkParameter,
    status: 200,
    schema: supplierAnswer,
    keeping: 'never',
    problems: ['recurso_no_encontrado'],
  },
} as const satisfies Readonly<Record<string, Operation>>;
