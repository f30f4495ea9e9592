import type { EventPayload } from '../../../schemas/http/events.ts';
import type { HistoryEntry } from '../../../schemas/http/history.ts';
import type { TaxpayerRecord } from '../../../schemas/http/taxpayer.ts';
import type { EventKind, RegisterName } from '../../../schemas/registers.ts';
import { number } from '../formats.ts';

// Names of fields, registers and kinds of event as people read them, and changes as sentences.

interface FieldWords {
  label: string;
  /** The register that the value comes from. Null: it is made from other fields. */
  register: RegisterName | null;
}

/** The fields of a record in the order in which they are shown. */
export const recordFields: Readonly<Record<Exclude<keyof TaxpayerRecord, 'ruc' | 'tipo'>, FieldWords>> = {
  nombre: { label: 'Nombre o razón social', register: 'padron_reducido' },
  estado: { label: 'Estado', register: 'padron_reducido' },
  condicion: { label: 'Condición del domicilio', register: 'padron_reducido' },
  direccion: { label: 'Dirección', register: 'padron_reducido' },
  distrito: { label: 'Distrito', register: null },
  provincia: { label: 'Provincia', register: null },
  departamento: { label: 'Departamento', register: null },
  ubigeo: { label: 'Ubigeo', register: 'padron_reducido' },
  tipo_contribuyente: { label: 'Tipo de contribuyente', register: 'padron_mensual' },
  actividad_economica: { label: 'Actividad económica', register: 'padron_mensual' },
  sistema_emision: { label: 'Sistema de emisión', register: 'padron_mensual' },
  comercio_exterior: { label: 'Comercio exterior', register: 'padron_mensual' },
  nro_trabajadores: { label: 'Trabajadores', register: 'padron_mensual' },
  es_agente_retencion: { label: 'Agente de retención', register: 'agentes_retencion' },
  es_buen_contribuyente: { label: 'Buen contribuyente', register: 'buenos_contribuyentes' },
};

const otherFields: Readonly<Record<string, string>> = {
  ruc: 'RUC en el padrón',
  sanciones: 'Sanciones',
  desde: 'Desde',
  resolucion: 'Resolución',
  ciiu3_principal: 'Actividad (CIIU 3)',
  ciiu3_secundaria: 'Actividad secundaria (CIIU 3)',
  ciiu4_principal: 'Actividad (CIIU 4)',
  tipo_contabilidad: 'Sistema de contabilidad',
};

/** A field that has no name here is shown by its own. */
export function fieldLabel(campo: string): string {
  if (Object.hasOwn(recordFields, campo)) return recordFields[campo as keyof typeof recordFields].label;
  return Object.hasOwn(otherFields, campo) ? otherFields[campo]! : campo.replaceAll('_', ' ');
}

/** Short names of the registers. Their whole titles are in schemas/registers.ts. */
export const registerNamesShown: Readonly<Record<RegisterName, string>> = {
  padron_reducido: 'Padrón reducido',
  padron_mensual: 'Padrón mensual',
  agentes_retencion: 'Agentes de retención',
  buenos_contribuyentes: 'Buenos contribuyentes',
  sancionados: 'Proveedores sancionados',
  inhabilitaciones_judiciales: 'Inhabilitaciones judiciales',
  inhabilitaciones_administrativas: 'Inhabilitaciones administrativas',
};

/** A value as it is read. A list, such as that of sanctions, is counted. */
export function shownValue(value: HistoryEntry['antes'] | undefined): string {
  if (value === null || value === undefined) return 'sin dato';
  if (typeof value === 'boolean') return value ? 'sí' : 'no';
  if (typeof value === 'number') return number(value);
  if (typeof value === 'string') return value;
  return value.length === 1 ? '1 sanción' : `${number(value.length)} sanciones`;
}

export const eventKindTexts: Readonly<Record<EventKind | 'ping', string>> = {
  'ruc.estado_cambiado': 'Cambió el estado',
  'ruc.condicion_cambiada': 'Cambió la condición del domicilio',
  'ruc.agente_retencion_cambiado': 'Cambió la lista de agentes de retención',
  'ruc.buen_contribuyente_cambiado': 'Cambió la lista de buenos contribuyentes',
  'ruc.nombre_cambiado': 'Cambió el nombre',
  'ruc.alta': 'Apareció en el padrón',
  'ruc.baja': 'Dejó de figurar en el padrón',
  ping: 'Prueba',
};

/** Says in a sentence what an event is about, without its RUC, which stands beside it. */
export function eventSentence({ evento, datos, correccion }: Pick<EventPayload, 'evento' | 'datos' | 'correccion'>) {
  const what = changeSentence(evento, datos);
  return correccion === null ? what : `Corrección de la edición ${number(correccion.edicion)}: ${lowerFirst(what)}`;
}

function changeSentence(evento: EventKind, { antes, despues }: EventPayload['datos']): string {
  switch (evento) {
    case 'ruc.alta':
      return 'El RUC apareció en el padrón reducido.';
    case 'ruc.baja':
      return 'El RUC dejó de figurar en el padrón reducido.';
    case 'ruc.agente_retencion_cambiado':
      return despues === true ? 'Pasó a ser agente de retención.' : 'Dejó de ser agente de retención.';
    case 'ruc.buen_contribuyente_cambiado':
      return despues === true
        ? 'Entró a la lista de buenos contribuyentes.'
        : 'Salió de la lista de buenos contribuyentes.';
    case 'ruc.nombre_cambiado':
      return `El nombre pasó de «${shownValue(antes)}» a «${shownValue(despues)}».`;
    case 'ruc.estado_cambiado':
      return `El estado pasó de ${shownValue(antes)} a ${shownValue(despues)}.`;
    case 'ruc.condicion_cambiada':
      return `La condición del domicilio pasó de ${shownValue(antes)} a ${shownValue(despues)}.`;
  }
}

function lowerFirst(text: string): string {
  return text.charAt(0).toLocaleLowerCase('es') + text.slice(1);
}
