import { expect, it } from 'vitest';
import { deliveryId, eventId, payloadOf } from '../../../../pipelines/watch/payload.ts';

it('ids are fixed for ever: the same change, column and list are the same event', () => {
  const id = eventId('padron_reducido', 2, '20990000019', 'estado', 7);
  expect(id).toBe('ev_IKULhFE9_U-P_Ob5d1UBqA');
  expect(deliveryId(id, 'wh_1')).toBe('en_571GXz1_TazmJsZGAcuPOA');
  const others = [
    eventId('padron_reducido', 3, '20990000019', 'estado', 7),
    eventId('padron_reducido', 2, '20990000027', 'estado', 7),
    eventId('padron_reducido', 2, '20990000019', 'nombre', 7),
    eventId('padron_reducido', 2, '20990000019', 'estado', 8),
  ];
  expect(new Set([id, ...others]).size).toBe(5);
  for (const each of [id, ...others, deliveryId(id, 'wh_1')]) expect(each).not.toMatch(/[.\s]/);
});

it('the body holds what the contract names, in its order, with the offset of Lima', () => {
  const body = payloadOf(
    {
      id: 'ev_x',
      register: 'padron_reducido',
      edition: 2,
      ruc: '20990000019',
      field: { evento: 'ruc.baja', campo: 'ruc', antes: '20990000019', despues: null },
      list: { id: 7, nombre: 'Clientes "A"', referencia: null },
      fechaDato: '2026-11-26',
      ocurridoEn: new Date('2026-11-27T03:00:00.999Z'),
      correccion: { edicion: 1, evento: 'ev_wrong' },
    },
    42,
  );
  expect(body).toBe(
    '{"id":"ev_x","posicion":42,"evento":"ruc.baja","ocurrido_en":"2026-11-26T22:00:00-05:00",' +
      '"datos":{"ruc":"20990000019","campo":"ruc","antes":"20990000019","despues":null,"fecha_dato":"2026-11-26"},' +
      '"watchlist":{"id":7,"nombre":"Clientes \\"A\\"","referencia":null},"correccion":{"edicion":1,"evento":"ev_wrong"}}',
  );
});
