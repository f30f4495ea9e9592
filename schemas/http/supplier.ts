import { z } from 'zod';
import { registerNames } from '../registers.ts';
import { answerOf, day, limaTimestamp, rucText } from './envelope.ts';
import type { Operations } from './operation.ts';
import { rucProblems, source, taxpayerMeta, taxpayerRecord } from './taxpayer.ts';

/**
 * Whether the supplier is in a list of the tax authority, and since when. `figura` is null until the list is loaded.
 * `desde` is YYYY-MM-DD. If the source's day is unreadable, `desde` is the source's text.
 */
const listStanding = z.strictObject({
  figura: z.boolean().nullable(),
  desde: z.string().nullable(),
  resolucion: z.string().nullable(),
  fecha_padron: day.nullable(),
});
export type ListStanding = z.infer<typeof listStanding>;

/**
 * One sanction that bars the supplier from state contracting, in force or not. `desde` and `hasta` are YYYY-MM-DD. An
 * unreadable day is the source's text.
 */
const bar = z.strictObject({
  desde: z.string().nullable(),
  /** The last day of the bar. Null: the bar has no end. */
  hasta: z.string().nullable(),
  definitiva: z.boolean(),
  /** Whether the bar is in force on `evaluado_al`. Null: its days are missing or unreadable. */
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
  /** The loaded registers of barred suppliers, from which `sanciones` was read. */
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
  /** With this id, the same answer can be read again, byte for byte, for five years. */
  consulta_id: z.uuid(),
  consultado_en: limaTimestamp,
});
export type SupplierMeta = z.infer<typeof supplierMeta>;

export const supplierAnswer = answerOf(supplierCheck, supplierMeta);

export const supplierOperations = {
  evaluarProveedor: {
    summary: 'Evaluación de un proveedor, con constancia',
    description:
      'El registro, las listas de la autoridad tributaria, las inhabilitaciones para contratar con el Estado, si ya lo vigila y advertencias, en una respuesta que se conserva cinco años. Solo empresas. Si el padrón no trae `estado` o `condicion`, `resultado` no es `sin_observaciones`: es `no_determinado`, salvo que haya observaciones. `inhabilitado_al` es el día en que se juzgan las inhabilitaciones (por omisión, hoy).',
    // The handler, not this schema, checks that the text is a day. A wrong day gets the error code `fecha_invalida`.
    query: z.strictObject({ inhabilitado_al: z.string().optional() }),
    answer: supplierAnswer,
    problems: [...rucProblems, 'fecha_invalida', 'solo_empresas'],
  },
  verConsultaDeProveedor: {
    summary: 'Una evaluación ya hecha, tal como se dio',
    description: 'Los mismos bytes, sin costo, a la misma cuenta.',
    answer: supplierAnswer,
  },
} as const satisfies Operations;
