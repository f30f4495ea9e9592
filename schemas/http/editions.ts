import { z } from 'zod';
import { registerNames } from '../registers.ts';
import { answerOf, day, limaTimestamp, limitParameter } from './envelope.ts';
import type { Operations } from './operation.ts';

/** Types of the file with an edition's changes. The first is the default. */
export const deltaTypes = ['application/x-ndjson', 'application/vnd.apache.parquet'] as const;

const register = z.enum(registerNames);
const sha256 = z.string().regex(/^[0-9a-f]{64}$/);
const count = z.int().min(0).nullable();

const edition = z.strictObject({
  registro: register,
  numero: z.int().min(1),
  fecha_dato: day,
  publicado_en: limaTimestamp,
  detectada_en: limaTimestamp,
  /** When look-ups began to show this edition. */
  cargada_en: limaTimestamp,
  /** Rows of the register in this edition. */
  filas: count,
  /** Lines of the file of changes for an account with a contract: base + altas + cambios + bajas. */
  lineas: z.int().min(0),
  base: count,
  altas: count,
  cambios: count,
  bajas: count,
  /** The edition that this one undoes. */
  corrige: z.int().min(1).nullable(),
  /** Hash of the publication as downloaded. Null for a correction, which has none. */
  sha256: sha256.nullable(),
  cambios_sha256: sha256,
  enlaces: z.strictObject({ cambios: z.string() }),
});

const editionsQuery = z.strictObject({
  registro: register.meta({ description: 'El padrón cuyas ediciones se piden' }),
  desde: day.optional().meta({ description: 'Solo ediciones con datos de ese día o posteriores', format: 'date' }),
  hasta: day.optional().meta({ description: 'Solo ediciones con datos de ese día o anteriores', format: 'date' }),
  limite: limitParameter(200, 50),
  cursor: z.string().optional(),
});

const editionsMeta = z.strictObject({
  origen: z.string(),
  /** Date of the edition that look-ups show. Null until the register is first loaded. */
  fecha_dato: day.nullable(),
  cursor: z.string().nullable(),
});
export const editionsAnswer = answerOf(z.array(edition), editionsMeta);

/** Cells by the register's own columns, as the register publishes them. */
const row = z.record(z.string(), z.string()).nullable();

/** A line of the NDJSON file. The Parquet file has the same fields, and `antes_…` and `despues_…` for each column. */
export const editionChange = z.strictObject({
  edicion: z.int().min(1),
  operacion: z.enum(['base', 'alta', 'cambio', 'baja']),
  /** In the three lists of barred suppliers also the id of a supplier without a RUC. */
  ruc: z.string(),
  fecha_dato: day,
  detectada_en: limaTimestamp,
  corrige: z.int().min(1).nullable(),
  antes: row,
  despues: row,
});
export type EditionChange = z.infer<typeof editionChange>;

const fileHeaders = z.strictObject({
  Range: z.string().optional().meta({ description: 'Una parte del archivo, como `bytes=0-1048575` o `bytes=-8`' }),
  'If-Range': z
    .string()
    .optional()
    .meta({ description: 'La ETag de la primera parte: si el archivo ya es otro, llega entero (200)' }),
});

export const editionOperations = {
  verEdiciones: {
    summary: 'Las ediciones de un padrón',
    description:
      'Lo más reciente primero. Una edición es un padrón publicado, o una corrección (`corrige`), ya cargado: lo que las consultas muestran. `lineas` son las de su archivo de cambios con contrato; sin él vienen solo las de empresas. No consume cuota.',
    query: editionsQuery,
    answer: editionsAnswer,
  },
  descargarCambios: {
    summary: 'Los cambios de una edición, como archivo',
    description:
      'Una línea JSON por cambio (`CambioDeEdicion`), o un archivo Parquet, según `Accept`; en orden de RUC. `operacion`: `base` es una fila de una edición completa, que trae todas (la primera, y la que sigue a un cambio de columnas); `alta` y `baja`, un RUC que aparece o desaparece; `cambio`, una fila que difiere. `antes` y `despues` son filas enteras con las columnas del padrón y sus textos tal como se publican, sin los arreglos de la consulta; aplicadas en orden dan el estado. Parquet tiene `antes_…` y `despues_…` por columna. Sin contrato de tratamiento de datos vienen solo las empresas (RUC 20); con él todas las filas, y cada respuesta se registra.\n\nEl archivo de una edición no cambia: la `ETag` es fuerte, `Range` e `If-Range` sirven para seguir una descarga cortada o para leer solo partes de un Parquet, y `HEAD` da el tamaño. Un archivo que nadie pidió se prepara primero; si tarda más de 10 segundos la respuesta es `edicion_en_preparacion` y basta repetir. Hasta 8 descargas a la vez por cuenta. No consume cuota, pero cada petición cuenta en el límite por minuto.',
    headers: fileHeaders,
    fileTypes: deltaTypes,
    problems: [
      'formato_no_disponible',
      'rango_no_satisfacible',
      'demasiadas_descargas',
      'edicion_en_preparacion',
      'padron_no_disponible',
    ],
  },
} as const satisfies Operations;
