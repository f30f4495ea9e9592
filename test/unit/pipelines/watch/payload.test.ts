import { expect, it } from 'vitest';
import { eventId, payloadOf } from '../../../../pipelines/watch/match.ts';
import { dayInDeliveryId, deliveryId } from '../../../../pipelines/webhooks/delivery-log.ts';

it('ids never change: the same change, column and list are the same event', () => {
  const id = eventId('padron_reducido', 2, '20990000019', 'estado', 7);
  expect(id).toBe('ev_IKULhFE9_U-P_Ob5d1UBqA');
  expect(deliveryId('2026-11-26', id, 'wh_1')).toBe('en_261126_571GXz1_TazmJsZGAcuPOA');
  const others = [
    eventId('padron_reducido', 3, '20990000019', 'estado', 7),
    eventId('padron_reducido', 2, '20990000027', 'estado', 7),
    eventId('padron_reducido', 2, '20990000019', 'nombre', 7),
    eventId('padron_reducido', 2, '20990000019', 'estado', 8),
  ];
  expect(new Set([id, ...others]).size).toBe(5);
  for (const each of [id, ...others, deliveryId('2026-11-26', id, 'wh_1')]) expect(each).not.toMatch(/[.\s]/);
});

it("the day can be read from a delivery's id; an id without a valid day gives null", () => {
  for (const day of ['2026-11-26', '2028-02-29', '2099-12-31', '2000-01-01'])
    expect(dayInDeliveryId(deliveryId(day, 'ev_x', 'wh_1'))).toBe(day);
  const digest = '571GXz1_TazmJsZGAcuPOA';
  for (const id of [
    `en_${digest}`,
    `en_269999_${digest}`,
    `en_260230_${digest}`,
    `en_260000_${digest}`,
    `en_26112_${digest}`,
    `en_261126_${digest}a`,
    `en_261126_${digest.slice(1)}`,
    `en_261126_${digest}\n`,
    `ev_261126_${digest}`,
    'en_261126_',
    '',
  ])
    expect(dayInDeliveryId(id), id).toBeNull();
});

it("the body has the fields of the contract in their order, with Lima's offset", () => {
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
