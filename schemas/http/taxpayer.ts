import { z } from 'zod';
import { registerNames } from '../registers.ts';
import { answerOf, day, limaTimestamp, rucText } from './envelope.ts';
import type { Operations } from './operation.ts';

const text = z.string().nullable();
const flag = z.boolean().nullable();

/** A taxpayer's record. All keys are always present, in this order. An unknown value is null. */
export const taxpayerRecord = z.strictObject({
  ruc: rucText,
  /** The first two digits of the RUC. "20" is a legal person. */
  tipo: z.string().regex(/^[0-9]{2}$/),
  nombre: z.string(),
  estado: text,
  condicion: text,
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

/** An edition from which the answer was read. */
export const source = z.strictObject({
  registro: z.enum(registerNames),
  fecha_dato: day,
  publicado_en: limaTimestamp,
  /** Null while the edition's rows are still being written to ClickHouse. */
  cargado_en: limaTimestamp.nullable(),
  /** Hash of the downloaded publication. Null: the edition is a correction, which has no publication. */
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

/** The error codes with which an operation on one RUC answers when it cannot give the RUC's record. */
export const rucProblems = [
  'ruc_formato',
  'ruc_digito_verificador',
  'contrato_requerido',
  'ruc_no_encontrado',
] as const;

export const taxpayerOperations = {
  consultarRuc: {
    summary: 'El registro de un contribuyente',
    description:
      'Cada campo viene de su propio padrón y `meta` da la fecha de cada uno. Un valor que el padrón no trae es `null`. Con `fecha`, como era ese día. Las personas naturales (RUC 10, 15, 16 y 17) requieren un contrato de tratamiento de datos.',
    // The handler, not this schema, checks that the text is a day. A wrong day gets the error code `fecha_invalida`.
    query: z.strictObject({ fecha: z.string().optional() }),
    answer: taxpayerAnswer,
    problems: [...rucProblems, 'fecha_invalida', 'fecha_sin_datos'],
  },
} as const satisfies Operations;
