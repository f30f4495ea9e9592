/**
 * The registers and their columns. A register is an official list; its columns are stored in this order everywhere:
 * in the Avro row, in the packed state row and in the change's before and after.
 */
export type WatchedEvent = 'ruc.estado_cambiado' | 'ruc.condicion_cambiada' | 'ruc.nombre_cambiado';
export type EventKind =
  | WatchedEvent
  | 'ruc.agente_retencion_cambiado'
  | 'ruc.buen_contribuyente_cambiado'
  | 'ruc.alta'
  | 'ruc.baja';

export const eventKinds = [
  'ruc.estado_cambiado',
  'ruc.condicion_cambiada',
  'ruc.agente_retencion_cambiado',
  'ruc.buen_contribuyente_cambiado',
  'ruc.nombre_cambiado',
  'ruc.alta',
  'ruc.baja',
] as const satisfies readonly EventKind[];

export interface Column {
  name: string;
  /** A watched column's change makes this event. */
  event?: WatchedEvent;
  /** An empty cell of a known RUC keeps the value of the previous edition. */
  keepsPrevious?: boolean;
}

export interface Register {
  name: RegisterName;
  /** Number of the register in stored keys; never reused. */
  code: number;
  /** How `meta.origen` names it. */
  title: string;
  /** Columns after `ruc`. */
  columns: readonly Column[];
  /** Raised whenever the same bytes would be read as other values; an edition of another version is a re-baseline. */
  parserVersion: number;
  defaultPartitions: number;
}

export type RegisterName = 'padron_reducido';

export const padronReducido = {
  name: 'padron_reducido',
  code: 1,
  title: 'SUNAT - Padrón reducido del RUC',
  parserVersion: 1,
  defaultPartitions: 6,
  // The file's own labels 7 and 8 are swapped (the first holds the kind of zone, the second its name) and its
  // "DEPARTAMENTO" is a flat number, not the region: these names say what the cells hold.
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

export const registers: Readonly<Record<RegisterName, Register>> = { padron_reducido: padronReducido };
export const registerNames = Object.keys(registers) as RegisterName[];

export function isRegisterName(text: string): text is RegisterName {
  return text in registers;
}

/** Topics of a register; `prefix` sets several installations on one cluster apart. */
export function changesTopic(prefix: string, register: RegisterName): string {
  return `${prefix}register.${register}.changes`;
}
export function editionsTopic(prefix: string, register: RegisterName): string {
  return `${prefix}register.${register}.editions`;
}
