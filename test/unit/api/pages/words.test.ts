import { expect, test } from 'vitest';
import { eventSentence, fieldLabel, shownValue } from '../../../../api/pages/console/words.ts';
import { duration } from '../../../../api/pages/formats.ts';
import type { EventPayload } from '../../../../schemas/http/events.ts';

function sentence(
  evento: EventPayload['evento'],
  antes: string | boolean | null,
  despues: string | boolean | null,
  correccion: EventPayload['correccion'] = null,
): string {
  return eventSentence({
    evento,
    datos: { ruc: '20990000019', campo: 'x', antes, despues, fecha_dato: '2026-11-26' },
    correccion,
  });
}

test.each([
  ['ruc.estado_cambiado', 'ACTIVO', null, 'El estado pasó de ACTIVO a sin dato.'],
  ['ruc.condicion_cambiada', 'HABIDO', 'NO HABIDO', 'La condición del domicilio pasó de HABIDO a NO HABIDO.'],
  ['ruc.nombre_cambiado', 'UNO', 'DOS', 'El nombre pasó de «UNO» a «DOS».'],
  ['ruc.agente_retencion_cambiado', false, true, 'Pasó a ser agente de retención.'],
  ['ruc.agente_retencion_cambiado', true, false, 'Dejó de ser agente de retención.'],
  ['ruc.buen_contribuyente_cambiado', false, true, 'Entró a la lista de buenos contribuyentes.'],
  ['ruc.buen_contribuyente_cambiado', true, false, 'Salió de la lista de buenos contribuyentes.'],
  ['ruc.alta', null, '20990000019', 'El RUC apareció en el padrón reducido.'],
  ['ruc.baja', '20990000019', null, 'El RUC dejó de figurar en el padrón reducido.'],
] as const)('%s from %s to %s is a sentence', (evento, antes, despues, text) => {
  expect(sentence(evento, antes, despues)).toBe(text);
});

test('a correction says which edition it corrects', () => {
  expect(sentence('ruc.estado_cambiado', 'A', 'B', { edicion: 1_234, evento: null })).toBe(
    'Corrección de la edición 1,234: el estado pasó de A a B.',
  );
});

test('values and names of fields are words', () => {
  expect([null, true, false, 1_234, 'X'].map((value) => shownValue(value))).toEqual([
    'sin dato',
    'sí',
    'no',
    '1,234',
    'X',
  ]);
  expect(fieldLabel('nro_trabajadores')).toBe('Trabajadores');
  expect(fieldLabel('campo_nuevo')).toBe('campo nuevo');
  expect(fieldLabel('constructor')).toBe('constructor');
});

test.each([
  [-5, '0 minutos'],
  [60_000, '1 minuto'],
  [59 * 60_000, '59 minutos'],
  [60 * 60_000, '1 hora'],
  [23 * 3_600_000 + 59 * 60_000, '23 horas'],
  [24 * 3_600_000, '1 día'],
  [51 * 3_600_000, '2 días y 3 horas'],
])('%i ms are %s', (ms, text) => {
  expect(duration(ms)).toBe(text);
});
