import { expect, test } from 'vitest';
import { type EventFacts, eventId, type FieldEvent, payloadOf } from '../../../../pipelines/watch/match.ts';
import { eventPayload } from '../../../../schemas/http/events.ts';

const ruc = '20990000019';

function shown(field: FieldEvent, correccion: EventFacts['correccion'] = null) {
  const facts: EventFacts = {
    id: eventId('agentes_retencion', 2, ruc, field.campo, 7),
    register: 'agentes_retencion',
    edition: 2,
    ruc,
    field,
    list: { id: 7, nombre: 'Proveedores', referencia: null },
    fechaDato: '2026-11-26',
    ocurridoEn: new Date('2026-11-27T07:00:00Z'),
    correccion,
  };
  return eventPayload.parse(JSON.parse(payloadOf(facts, 1)));
}

test('a company enters or leaves a list: antes and despues are booleans', () => {
  const entered = shown({
    evento: 'ruc.agente_retencion_cambiado',
    campo: 'es_agente_retencion',
    antes: false,
    despues: true,
  });
  expect(entered.datos).toEqual({
    ruc,
    campo: 'es_agente_retencion',
    antes: false,
    despues: true,
    fecha_dato: '2026-11-26',
  });
});

test('a name is filled for the first time: antes is null', () => {
  const filled = shown({ evento: 'ruc.nombre_cambiado', campo: 'nombre', antes: null, despues: 'NUEVA S.A.C.' });
  expect([filled.datos.antes, filled.datos.despues]).toEqual([null, 'NUEVA S.A.C.']);
});

test('a correction names the wrong edition, and its event if it made one', () => {
  const field: FieldEvent = {
    evento: 'ruc.buen_contribuyente_cambiado',
    campo: 'es_buen_contribuyente',
    antes: true,
    despues: false,
  };
  expect(shown(field).correccion).toBeNull();
  for (const correccion of [
    { edicion: 1, evento: 'ev_original' },
    { edicion: 1, evento: null },
  ])
    expect(shown(field, correccion).correccion).toEqual(correccion);
});
