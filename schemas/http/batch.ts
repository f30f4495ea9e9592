import { z } from 'zod';
import { answerOf, day } from './envelope.ts';
import { taxpayerMeta, taxpayerRecord } from './taxpayer.ts';

export const maxBatchRucs = 100;

/** The header Idempotency-Key: the key as it is, or as a quoted string of RFC 8941, where quote and backslash are escaped. */
export const idempotencyKeyText = z
  .string()
  .regex(
    /^(?:[!#-~](?:[ -~]{0,253}[!-~])?|"(?:[ !#-[\]-~]|\\["\\]){1,255}")$/,
    'debe tener de 1 a 255 caracteres ASCII imprimibles, tal cual o como una cadena entre comillas',
  );

/** How many there may be at most is judged by the route, which has an error code of its own for it. */
export const batchRequest = z.strictObject({
  rucs: z.array(z.string()).min(1, 'no trae ningún RUC').meta({ maxItems: maxBatchRucs }),
});

const batchRefusals = ['ruc_formato', 'ruc_digito_verificador', 'contrato_requerido'] as const;

/** `encontrado`: true and false are claims about a dated edition; null: it was not looked up, and why. */
export const batchEntry = z.discriminatedUnion('encontrado', [
  z.strictObject({
    ruc: z.string(),
    encontrado: z.literal(true),
    data: taxpayerRecord,
    meta: z.strictObject({ fecha_dato: day, direccion_motivo: taxpayerMeta.shape.direccion_motivo }),
  }),
  z.strictObject({ ruc: z.string(), encontrado: z.literal(false), codigo: z.literal('ruc_no_encontrado') }),
  z.strictObject({
    /** As it was sent. */
    ruc: z.string(),
    encontrado: z.null(),
    codigo: z.enum(batchRefusals),
    mensaje: z.string().min(1),
  }),
]);
export type BatchEntry = z.infer<typeof batchEntry>;

const batchMeta = taxpayerMeta.omit({ direccion_motivo: true }).extend({
  solicitados: z.int().min(1).max(maxBatchRucs),
  /** Entries with a record, repeats included. */
  encontrados: z.int().min(0),
  /** Look-ups charged: one per different RUC that was found. */
  cobrados: z.int().min(0),
});
export type BatchMeta = z.infer<typeof batchMeta>;

export const batchAnswer = answerOf(z.array(batchEntry), batchMeta);
