import { z } from 'zod';
import { answerOf, day } from './envelope.ts';
import type { Operations } from './operation.ts';
import { taxpayerMeta, taxpayerRecord } from './taxpayer.ts';

export const maxBatchRucs = 100;

/**
 * The text of the header `Idempotency-Key`: the bare key, or the key as a quoted string of RFC 8941. In a quoted
 * string, quotes and backslashes are escaped.
 */
export const idempotencyKeyText = z.string().regex(
  // \x5B and \x5D are brackets. Java and .NET would read a bracket in a class as the start of another class.
  /^(?:[!#-~](?:[ -~]{0,253}[!-~])?|"(?:[ !#-\x5B\x5D-~]|\\["\\]){1,255}")$/,
  'debe tener de 1 a 255 caracteres ASCII imprimibles, tal cual o como una cadena entre comillas',
);

export const batchRequest = z.strictObject({
  rucs: z.array(z.string()).min(1, 'no trae ningún RUC').meta({ maxItems: maxBatchRucs }),
});

const batchRefusals = ['ruc_formato', 'ruc_digito_verificador', 'contrato_requerido'] as const;

/**
 * One RUC of a batch. If `encontrado` is true or false, the RUC was looked up in the daily register. If it is null, the
 * RUC was not looked up, and `codigo` is the reason.
 */
export const batchEntry = z.discriminatedUnion('encontrado', [
  z.strictObject({
    ruc: z.string(),
    encontrado: z.literal(true),
    data: taxpayerRecord,
    meta: z.strictObject({ fecha_dato: day, direccion_motivo: taxpayerMeta.shape.direccion_motivo }),
  }),
  z.strictObject({ ruc: z.string(), encontrado: z.literal(false), codigo: z.literal('ruc_no_encontrado') }),
  z.strictObject({
    /** The text that the client sent. */
    ruc: z.string(),
    encontrado: z.null(),
    codigo: z.enum(batchRefusals),
    mensaje: z.string().min(1),
  }),
]);
export type BatchEntry = z.infer<typeof batchEntry>;

const batchMeta = taxpayerMeta.omit({ direccion_motivo: true }).extend({
  solicitados: z.int().min(1).max(maxBatchRucs),
  /** Number of entries with a record. A RUC that was sent twice counts twice. */
  encontrados: z.int().min(0),
  /** Charged look-ups. Each distinct RUC that was found is charged once. */
  cobrados: z.int().min(0),
});
export type BatchMeta = z.infer<typeof batchMeta>;

export const batchAnswer = answerOf(z.array(batchEntry), batchMeta);

const idempotencyHeader = z.strictObject({
  'Idempotency-Key': idempotencyKeyText.optional().meta({
    description: 'Con la misma clave y el mismo cuerpo se obtiene la misma respuesta durante 24 horas, sin costo',
  }),
});

export const batchOperations = {
  consultarLote: {
    summary: 'Hasta 100 registros en una llamada',
    description:
      'Una entrada por cada RUC enviado, en el mismo orden. `encontrado` es `true`, `false` (no figura en la edición indicada) o `null` (no se consultó: `codigo` dice por qué). Los repetidos cuentan una vez.',
    headers: idempotencyHeader,
    body: batchRequest,
    listLimits: { rucs: maxBatchRucs },
    answer: batchAnswer,
    problems: ['idempotencia_en_curso', 'idempotencia_otro_cuerpo', 'contrato_requerido'],
  },
} as const satisfies Operations;
