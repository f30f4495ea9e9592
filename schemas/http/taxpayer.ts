import { z } from 'zod';
import { registerNames } from '../registers.ts';
import { answerOf, day, limaTimestamp, rucText } from './envelope.ts';

const text = z.string().nullable();
const flag = z.boolean().nullable();

/** `fecha`: as of that day. Whether the text is one is judged by the route, which has an error code of its own for it. */
export const taxpayerQuery = z.strictObject({ fecha: z.string().optional() });

/** A taxpayer's record: all keys always, in this order; null when unknown. */
export const taxpayerRecord = z.strictObject({
  ruc: rucText,
  /** The RUC's first two digits; "20" is a legal person. */
  tipo: z.string().regex(/^[0-9]{2}$/),
  nombre: z.string(),
  estado: z.string(),
  condicion: z.string(),
  ubigeo: text,
  departamento: text,
  provincia: text,
  distrito: text,
  tipo_contribuyente: text,
  sistema_emision: text,
  actividad_economica: text,
  comercio_exterior: text,
  nro_trabajadores: z.int().min(0).nullable(),
  direccion: text,
  es_agente_retencion: flag,
  es_buen_contribuyente: flag,
});
export type TaxpayerRecord = z.infer<typeof taxpayerRecord>;

/** The edition that an answer was taken from. */
export const source = z.strictObject({
  registro: z.enum(registerNames),
  fecha_dato: day,
  publicado_en: limaTimestamp,
  /** null while the edition's rows are still being written. */
  cargado_en: limaTimestamp.nullable(),
  /** Of the publication as downloaded; null where the edition is a correction. */
  sha256: z
    .string()
    .regex(/^[0-9a-f]{64}$/)
    .nullable(),
});
export type Source = z.infer<typeof source>;

export const taxpayerMeta = z.strictObject({
  origen: z.string(),
  fecha_dato: day,
  fecha_padrones: z.strictObject({ agentes_retencion: day.nullable(), buenos_contribuyentes: day.nullable() }),
  fuentes: z.array(source),
  direccion_motivo: z.literal('no_publicada_persona_natural').optional(),
});
export type TaxpayerMeta = z.infer<typeof taxpayerMeta>;

export const taxpayerAnswer = answerOf(taxpayerRecord, taxpayerMeta);
