import { displayCondicion, displayEstado } from '../../schemas/display-texts.ts';
import type { HistoryEntry } from '../../schemas/http/history.ts';
import { padronMensual, type RegisterName, registers } from '../../schemas/registers.ts';
import { sanctionsOf } from '../../schemas/sanctions.ts';
import { dailyFields, monthlyFields, textOf } from './record.ts';
import type { ChangeKey } from './register-changes.ts';

/** One change of a RUC's row in a register, with cells in today's order of columns. */
export interface HistoryChange extends ChangeKey {
  before: readonly string[] | null;
  after: readonly string[] | null;
  /** If the RUC returns to the register with this change: its row before it left. Otherwise null. */
  lastKnown: readonly string[] | null;
}

export type ChangedField = Pick<HistoryEntry, 'operacion' | 'campo' | 'antes' | 'despues'>;

const operations = { c: 'alta', u: 'cambio', d: 'baja' } as const;

/**
 * Makes one entry per field whose shown value differs. When a RUC appears in a register or leaves it, no field has both
 * an old and a new value. So there is only one entry, which says that the RUC appeared or left. When a RUC returns, one
 * more entry follows for each field that differs from the RUC's last row. The events of watch lists are made alike.
 */
export function entriesOf(
  ruc: string,
  { register, operation, before, after, lastKnown }: HistoryChange,
): ChangedField[] {
  const fields = (cells: readonly string[] | null): Fields => (cells === null ? {} : fieldsOf[register](cells));
  const operacion = operations[operation];
  if (operacion === 'cambio') return differences(fields(before), fields(after));
  const presence = presenceOf(ruc, register, { before: fields(before), after: fields(after) });
  if (lastKnown === null) return [{ operacion, ...presence }];
  const changed = differences(fields(lastKnown), fields(after)).filter(({ campo }) => campo !== presence.campo);
  return [{ operacion, ...presence }, ...changed];
}

/**
 * Makes the entry of a RUC that appears in a register or leaves the register. The entry's field is `sanciones` in a
 * register of barred suppliers. In any other register the field is `presence.field` (such as `es_agente_retencion`), or
 * `ruc` if the register has no `presence.field`.
 */
function presenceOf(
  ruc: string,
  register: HistoryChange['register'],
  { before, after }: { before: Fields; after: Fields },
): Omit<ChangedField, 'operacion'> {
  const { presence, key } = registers[register];
  if (key === 'supplier') {
    return { campo: 'sanciones', antes: before.sanciones ?? null, despues: after.sanciones ?? null };
  }
  const isThere = Object.keys(after).length > 0;
  if (presence !== undefined && presence !== 'taxpayer') {
    return { campo: presence.field, antes: !isThere, despues: isThere };
  }
  return isThere ? { campo: 'ruc', antes: null, despues: ruc } : { campo: 'ruc', antes: ruc, despues: null };
}

function differences(before: Fields, after: Fields): ChangedField[] {
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...names]
    .map((campo) => ({ campo, antes: before[campo] ?? null, despues: after[campo] ?? null }))
    .filter(({ antes, despues }) => JSON.stringify(antes) !== JSON.stringify(despues))
    .map((field) => ({ operacion: 'cambio' as const, ...field }));
}

export type FieldValue = HistoryEntry['antes'];
type Fields = Readonly<Record<string, FieldValue>>;

/** The fields that a history shows for each register: the fields of the record, then columns that the record lacks. */
const fieldsOf: Readonly<Record<RegisterName, (cells: readonly string[]) => Fields>> = {
  padron_reducido: (cells) =>
    Object.fromEntries(Object.entries(dailyFields(cells)).map(([name, text]) => [name, textOrNull(text ?? '')])),
  padron_mensual(cells) {
    const text = (name: (typeof padronMensual.columns)[number]['name']) =>
      textOf(cells[padronMensual.columns.findIndex((column) => column.name === name)] ?? '');
    return {
      ...monthlyFields(cells),
      estado: displayEstado(text('estado') ?? ''),
      condicion: displayCondicion(text('condicion') ?? ''),
      // This field may equal actividad_economica, which shows ciiu3_principal when ciiu4_principal is empty.
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
  return Object.fromEntries(registers[register].columns.map(({ name }, at) => [name, textOrNull(cells[at] ?? '')]));
}

function barFields(register: RegisterName, cells: readonly string[]): Fields {
  const { sanciones, ...others } = ownColumns(register, cells);
  return { ...others, sanciones: typeof sanciones === 'string' ? sanctionsOf(sanciones) : null };
}

function textOrNull(text: string): string | null {
  return text.trim() === '' ? null : text;
}
