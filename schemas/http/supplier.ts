import { z } from 'zod';
import { registerNames } from '../registers.ts';
import { answerOf, day, limaTimestamp, rucText } from './envelope.ts';
import { source, taxpayerMeta, taxpayerRecord } from './taxpayer.ts';

/** `inhabilitado_al`: the day at which bars are judged; whether the text is one is judged by the route. */
export const supplierQuery = z.strictObject({ inhabilitado_al: z.string().optional() });

/** A list of the tax authority. `figura`: null until the list is loaded; a day that the source wrote otherwise stays as written. */
const listStanding = z.strictObject({
  figura: z.boolean().nullable(),
  desde: z.string().nullable(),
  resolucion: z.string().nullable(),
  fecha_padron: day.nullable(),
});
export type ListStanding = z.infer<typeof listStanding>;

/** One bar from state contracting, in force or not. Days are as the source gives them; YYYY-MM-DD where they can be read. */
const bar = z.strictObject({
  desde: z.string().nullable(),
  /** The last day barred; null: without end. */
  hasta: z.string().nullable(),
  definitiva: z.boolean(),
  /** On `evaluado_al`; null: the days that would decide are missing or cannot be read. */
  vigente: z.boolean().nullable(),
  resolucion: z.string(),
  motivo: z.string().nullable(),
  fuente: z.enum(registerNames),
});
export type Bar = z.infer<typeof bar>;

const procurementResults = ['no_figura', 'sin_sancion_vigente', 'inhabilitado', 'no_determinado'] as const;

const procurementStanding = z.strictObject({
  resultado: z.enum(procurementResults),
  evaluado_al: day,
  sanciones: z.array(bar),
  /** The registers of bars that are loaded. */
  fuentes: z.array(source),
});
export type ProcurementStanding = z.infer<typeof procurementStanding>;

const warningCodes = [
  'no_habido',
  'no_hallado',
  'estado_baja',
  'suspension_temporal',
  'inhabilitado_vigente',
  'inhabilitado_en_fecha',
  'inhabilitacion_reciente',
  'cambio_reciente',
  'dato_atrasado',
  'fuente_no_cargada',
] as const;

const warning = z.strictObject({
  codigo: z.enum(warningCodes),
  severidad: z.enum(['info', 'atencion', 'grave']),
  mensaje: z.string().min(1),
});
export type Warning = z.infer<typeof warning>;

const supplierResults = ['sin_observaciones', 'con_observaciones', 'no_determinado'] as const;
export type SupplierResult = (typeof supplierResults)[number];

export const supplierCheck = z.strictObject({
  ruc: rucText,
  resultado: z.enum(supplierResults),
  registro: taxpayerRecord,
  agente_retencion: listStanding,
  buen_contribuyente: listStanding,
  contrataciones_estado: procurementStanding,
  vigilado: z.strictObject({
    activo: z.boolean(),
    listas: z.array(z.strictObject({ id: z.int(), nombre: z.string(), referencia: z.string().nullable() })),
  }),
  advertencias: z.array(warning),
});
export type SupplierCheck = z.infer<typeof supplierCheck>;

const supplierMeta = taxpayerMeta.omit({ direccion_motivo: true }).extend({
  /** Gives this answer again, byte for byte, for five years. */
  consulta_id: z.uuid(),
  consultado_en: limaTimestamp,
});
export type SupplierMeta = z.infer<typeof supplierMeta>;

export const supplierAnswer = answerOf(supplierCheck, supplierMeta);
