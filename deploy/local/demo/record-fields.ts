import type { Lookup } from './customer.ts';

/** One field of a look-up's answer, with its register and the date that the answer gives for that register. */
interface ShownField {
  field: string;
  value: unknown;
  source: string;
  /** YYYY-MM-DD; null when the answer states no date. */
  date: string | null;
}

const catalogue = 'ubigeo catalogue';
const sourceOfField: Readonly<Record<string, string>> = {
  ruc: 'padron_reducido',
  tipo: 'padron_reducido',
  nombre: 'padron_reducido',
  estado: 'padron_reducido',
  condicion: 'padron_reducido',
  ubigeo: 'padron_reducido',
  departamento: catalogue,
  provincia: catalogue,
  distrito: catalogue,
  tipo_contribuyente: 'padron_mensual',
  sistema_emision: 'padron_mensual',
  actividad_economica: 'padron_mensual',
  comercio_exterior: 'padron_mensual',
  nro_trabajadores: 'padron_mensual',
  direccion: 'padron_reducido',
  es_agente_retencion: 'agentes_retencion',
  es_buen_contribuyente: 'buenos_contribuyentes',
};

/** Every field of a taxpayer's record, in the order in which the API's answer has them. */
export function fieldsOf({ body }: Lookup): ShownField[] {
  const dates = new Map<string, string>(body.meta?.fuentes?.map(({ registro, fecha_dato }) => [registro, fecha_dato]));
  return Object.entries(sourceOfField).map(([field, source]) => ({
    field,
    value: body.data?.[field] ?? null,
    source,
    date: dates.get(source) ?? null,
  }));
}

/** Lists what is wrong with a record that should be complete: a missing value, or a missing or unexpected date. */
export function faultsOfFields(fields: readonly ShownField[], expected: ReadonlyMap<string, string>): string[] {
  return fields.flatMap(({ field, value, source, date }) => {
    if (value === null) return [`the record has no ${field}`];
    if (source === catalogue || date === expected.get(source)) return [];
    return [`${field} is dated ${date ?? 'by nothing'} instead of ${expected.get(source)}`];
  });
}
