/*
 * The registers (official lists) and their columns. Kafka's Avro records and ClickHouse's rows store a register's cells
 * in the order of `columns`. Every cell is text. A new column is added at the end, and no column is ever removed
 * (avro/columns.ts). After a column was added, `npm run schemas` adds it to the register's Avro schema.
 */

export const eventKinds = [
  'ruc.estado_cambiado',
  'ruc.condicion_cambiada',
  'ruc.agente_retencion_cambiado',
  'ruc.buen_contribuyente_cambiado',
  'ruc.nombre_cambiado',
  'ruc.alta',
  'ruc.baja',
] as const;
export type EventKind = (typeof eventKinds)[number];

export interface Column {
  name: string;
  /** The event that a change of this column makes. */
  event?: EventKind;
  /** If true, an empty cell keeps the value that the previous edition has for the RUC. */
  keepsPrevious?: boolean;
}

export interface Register {
  name: RegisterName;
  /** The register's number in ClickHouse's rows. It is never reused. */
  code: number;
  /** The register's name in `meta.origen`. */
  title: string;
  /** What identifies a row: a RUC, or a supplier's id, which need not be a RUC (idKindOf() in ruc.ts). */
  key: 'ruc' | 'supplier';
  columns: readonly Column[];
  /**
   * Which events are made when a RUC appears in the register or disappears from it:
   * - `taxpayer`: ruc.alta and ruc.baja.
   * - an object: `event` in both cases. It reports a change of `field`, which is true while the RUC is listed.
   * - left out: none.
   */
  presence?: 'taxpayer' | { event: EventKind; field: 'es_agente_retencion' | 'es_buen_contribuyente' };
  /**
   * Raise this number when a changed parser reads other values from the same bytes. The next edition is then a
   * re-baseline (see `previous` in pipelines/diff/types.ts).
   */
  parserVersion: number;
  defaultPartitions: number;
}

export type RegisterName =
  | 'padron_reducido'
  | 'padron_mensual'
  | 'agentes_retencion'
  | 'buenos_contribuyentes'
  | 'sancionados'
  | 'inhabilitaciones_judiciales'
  | 'inhabilitaciones_administrativas';

export const padronReducido = {
  name: 'padron_reducido',
  code: 1,
  title: 'SUNAT - Padrón reducido del RUC',
  key: 'ruc',
  presence: 'taxpayer',
  parserVersion: 1,
  defaultPartitions: 6,
  // These names say what the cells hold. The file's header swaps labels 7 and 8 (counted from 0): cell 7 is the kind of
  // zone, and cell 8 is the zone's name. The label "DEPARTAMENTO" means the number of a flat and not a region.
  columns: [
    { name: 'nombre', event: 'ruc.nombre_cambiado', keepsPrevious: true },
    { name: 'estado', event: 'ruc.estado_cambiado', keepsPrevious: true },
    { name: 'condicion', event: 'ruc.condicion_cambiada', keepsPrevious: true },
    { name: 'ubigeo' },
    { name: 'tipo_via' },
    { name: 'nombre_via' },
    { name: 'tipo_zona' },
    { name: 'nombre_zona' },
    { name: 'numero' },
    { name: 'interior' },
    { name: 'lote' },
    { name: 'dpto' },
    { name: 'manzana' },
    { name: 'kilometro' },
  ],
} as const satisfies Register;

// This register has only some of the taxpayers, so the absence of a RUC proves nothing. It has no names or addresses. A
// cell `NO DISPONIBLE` is stored as written, and the API shows null. `0` in `nro_trabajadores` is a real number.
export const padronMensual = {
  name: 'padron_mensual',
  code: 2,
  title: 'SUNAT - Padrón RUC (datos abiertos)',
  key: 'ruc',
  parserVersion: 1,
  defaultPartitions: 6,
  columns: [
    { name: 'estado' },
    { name: 'condicion' },
    { name: 'tipo' },
    { name: 'ciiu3_principal' },
    { name: 'ciiu3_secundaria' },
    { name: 'ciiu4_principal' },
    { name: 'nro_trabajadores' },
    { name: 'tipo_facturacion' },
    { name: 'tipo_contabilidad' },
    { name: 'comercio_exterior' },
    { name: 'ubigeo' },
    { name: 'departamento' },
    { name: 'provincia' },
    { name: 'distrito' },
  ],
} as const satisfies Register;

/**
 * What the lists of the tax authority have in common. One parser reads them all. A RUC without a row is not listed.
 * `desde` is the first day on which the RUC is listed, as YYYY-MM-DD. A day that cannot be read stays as the source
 * wrote it.
 */
const taxpayerList = {
  key: 'ruc',
  parserVersion: 1,
  defaultPartitions: 1,
  columns: [{ name: 'nombre' }, { name: 'desde' }, { name: 'resolucion' }],
} as const;

/**
 * What the registers of barred suppliers have in common. One parser reads them all. Each supplier has one row.
 * `tipo_id` is the kind of the supplier's id (ruc.ts). `sanciones` is a JSON list of the supplier's sanctions
 * (sanctions.ts).
 */
const supplierBars = {
  key: 'supplier',
  parserVersion: 1,
  defaultPartitions: 1,
  columns: [{ name: 'tipo_id' }, { name: 'sanciones' }],
} as const;

export const registers: Readonly<Record<RegisterName, Register>> = {
  padron_reducido: padronReducido,
  padron_mensual: padronMensual,
  agentes_retencion: {
    ...taxpayerList,
    name: 'agentes_retencion',
    code: 3,
    title: 'SUNAT - Padrón de agentes de retención del IGV',
    presence: { event: 'ruc.agente_retencion_cambiado', field: 'es_agente_retencion' },
  },
  buenos_contribuyentes: {
    ...taxpayerList,
    name: 'buenos_contribuyentes',
    code: 4,
    title: 'SUNAT - Padrón de buenos contribuyentes',
    presence: { event: 'ruc.buen_contribuyente_cambiado', field: 'es_buen_contribuyente' },
  },
  sancionados: {
    ...supplierBars,
    name: 'sancionados',
    code: 5,
    title: 'OECE - Proveedores sancionados con inhabilitación (CONOSCE)',
  },
  inhabilitaciones_judiciales: {
    ...supplierBars,
    name: 'inhabilitaciones_judiciales',
    code: 6,
    title: 'OECE - Inhabilitaciones por mandato judicial (CONOSCE)',
  },
  inhabilitaciones_administrativas: {
    ...supplierBars,
    name: 'inhabilitaciones_administrativas',
    code: 7,
    title: 'OECE - Inhabilitaciones administrativas (CONOSCE)',
  },
};
export const registerNames = Object.keys(registers) as RegisterName[];

export function isRegisterName(text: string): text is RegisterName {
  return text in registers;
}

/**
 * Returns the name of the Kafka topic with a register's changes.
 * @param prefix begins every topic's name, so that several installations can share one Kafka cluster
 */
export function changesTopic(prefix: string, register: RegisterName): string {
  return `${prefix}register.${register}.changes`;
}
export function editionsTopic(prefix: string, register: RegisterName): string {
  return `${prefix}register.${register}.editions`;
}

/** Names of the registers by their codes. ClickHouse stores the codes. */
export const registerOfCode: ReadonlyMap<number, RegisterName> = new Map(
  Object.values(registers).map(({ code, name }) => [code, name]),
);
