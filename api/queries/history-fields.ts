import { displayCondicion, displayEstado } from '../../schemas/display-texts.ts';
import type { HistoryEntry } from '../../schemas/http/history.ts';
import { padronMensual, type RegisterName, registers } from '../../schemas/registers.ts';
import { sanctionsOf } from '../../schemas/sanctions.ts';
import { dailyFields, monthlyFields, textOf } from './taxpayer-record.ts';

export type FieldValue = HistoryEntry['antes'];
export type Fields = Readonly<Record<string, FieldValue>>;

/** What a history tells of a register's row: the fields of the record, then the register's own columns that are none. */
export const fieldsOf: Readonly<Record<RegisterName, (cells: readonly string[]) => Fields>> = {
  padron_reducido(cells) {
    const { nombre, estado, condicion, ubigeo, direccion } = dailyFields(cells);
    return { nombre: said(nombre), estado: said(estado), condicion: said(condicion), ubigeo, direccion };
  },
  padron_mensual(cells) {
    const text = (name: (typeof padronMensual.columns)[number]['name']) =>
      textOf(cells[padronMensual.columns.findIndex((column) => column.name === name)] ?? '');
    return {
      ...monthlyFields(cells),
      estado: shown(text('estado'), displayEstado),
      condicion: shown(text('condicion'), displayCondicion),
      // Also told as actividad_economica where there is none of revision 4.
      ciiu3_principal: text('ciiu3_principal'),
      ciiu3_secundaria: text('ciiu3_secundaria'),
      tipo_contabilidad: text('tipo_contabilidad'),
      departamento: text('departamento'),
      provincia: text('provincia'),
      distrito: text('distrito'),
    };
  },
  agentes_retencion: (cells) => ownColumns('agentes_retencion', cells),
  buenos_contribuyentes: (cells) => ownColumns('buenos_contribuyentes', cells),
  sancionados: (cells) => barFields('sancionados', cells),
  inhabilitaciones_judiciales: (cells) => barFields('inhabilitaciones_judiciales', cells),
  inhabilitaciones_administrativas: (cells) => barFields('inhabilitaciones_administrativas', cells),
};

function ownColumns(register: RegisterName, cells: readonly string[]): Record<string, FieldValue> {
  return Object.fromEntries(registers[register].columns.map(({ name }, at) => [name, said(cells[at] ?? '')]));
}

function barFields(register: RegisterName, cells: readonly string[]): Fields {
  const { sanciones, ...others } = ownColumns(register, cells);
  return { ...others, sanciones: typeof sanciones === 'string' ? sanctionsOf(sanciones) : null };
}

function said(text: string): string | null {
  return text.trim() === '' ? null : text;
}

function shown(text: string | null, display: (text: string) => string): string | null {
  return text === null ? null : display(text);
}
