import { expect, test } from 'vitest';
import { monthlyCells, recordOf } from '../../../support/api/taxpayer-records.ts';

const company =
  '20990000019|COMERCIAL PRUEBA UNO S.A.C.|ACTIVO|HABIDO|150122|AV.|EJEMPLO DEL NORTE|URB.|LAS PRUEBAS II ETAPA|055|1603|-|-|-|-|';
const person = '10990000013|PERSONA DE PRUEBA|ACTIVO|HABIDO|-|-|-|-|-|-|-|-|-|-|-|';

test('all registers: every field, in the order of the specification', () => {
  const padron_mensual = monthlyCells({
    tipo: 'SOCIEDAD ANONIMA CERRADA',
    ciiu3_principal: 'VENTA POR MAYOR',
    ciiu4_principal: 'VENTA AL POR MENOR DE PRUEBAS',
    nro_trabajadores: '12',
    tipo_facturacion: 'MANUAL/COMPUTARIZADO',
    comercio_exterior: 'IMPORTADOR/EXPORTADOR',
    ubigeo: '150101',
    departamento: 'OTRO',
  });
  const record = recordOf(company, { padron_mensual, agentes_retencion: true, buenos_contribuyentes: false });
  expect(Object.entries(record)).toEqual([
    ['ruc', '20990000019'],
    ['tipo', '20'],
    ['nombre', 'COMERCIAL PRUEBA UNO S.A.C.'],
    ['estado', 'ACTIVO'],
    ['condicion', 'HABIDO'],
    ['ubigeo', '150122'],
    ['departamento', 'LIMA'],
    ['provincia', 'LIMA'],
    ['distrito', 'MIRAFLORES'],
    ['tipo_contribuyente', 'SOCIEDAD ANONIMA CERRADA'],
    ['sistema_emision', 'MANUAL/COMPUTARIZADO'],
    ['actividad_economica', 'VENTA AL POR MENOR DE PRUEBAS'],
    ['comercio_exterior', 'IMPORTADOR/EXPORTADOR'],
    ['nro_trabajadores', 12],
    ['direccion', 'AV. EJEMPLO DEL NORTE NRO. 055 INT. 1603 URB. LAS PRUEBAS II ETAPA'],
    ['es_agente_retencion', true],
    ['es_buen_contribuyente', false],
  ]);
});

test('registers that were never loaded: null, never false and never missing', () => {
  expect(recordOf(company)).toMatchObject({
    tipo_contribuyente: null,
    sistema_emision: null,
    actividad_economica: null,
    comercio_exterior: null,
    nro_trabajadores: null,
    es_agente_retencion: null,
    es_buen_contribuyente: null,
  });
});

// 0 is a value. NO DISPONIBLE empties its own cell and no other.
test.each([
  ['0', 0],
  ['12', 12],
  [' 7 ', 7],
  ['NO DISPONIBLE', null],
  ['-', null],
  ['', null],
  ['doce', null],
  ['-3', null],
  ['1.5', null],
  ['99999999999', null],
])('workers %j are %j', (cell, workers) => {
  const record = recordOf(company, { padron_mensual: monthlyCells({ nro_trabajadores: cell, tipo: 'ASOCIACION' }) });
  expect([record.nro_trabajadores, record.tipo_contribuyente]).toEqual([workers, 'ASOCIACION']);
});

test.each([
  [{ ciiu4_principal: 'CUATRO', ciiu3_principal: 'TRES' }, 'CUATRO'],
  [{ ciiu3_principal: 'TRES', ciiu3_secundaria: 'OTRA' }, 'TRES'],
  [{ ciiu4_principal: '-', ciiu3_principal: 'TRES' }, 'TRES'],
  [{ ciiu3_secundaria: 'OTRA' }, null],
])('economic activity of %j', (cells, activity) => {
  expect(recordOf(company, { padron_mensual: monthlyCells(cells) }).actividad_economica).toBe(activity);
});

test('a natural person: the ubigeo of the monthly register, and no address', () => {
  const record = recordOf(person, { padron_mensual: monthlyCells({ ubigeo: '130112' }) });
  expect(record).toMatchObject({
    ubigeo: '130112',
    departamento: 'LA LIBERTAD',
    provincia: 'TRUJILLO',
    distrito: 'ALTO TRUJILLO',
    // This is no fault: the register does not publish it.
    direccion: null,
  });
});

// A code is text and is kept when it is unknown; empty markers become null.
test.each([
  ['150122', null, '150122', 'MIRAFLORES'],
  ['150122', '150101', '150122', 'MIRAFLORES'],
  ['-', '150101', '150101', 'LIMA'],
  ['----', 'NO DISPONIBLE', null, null],
  ['', null, null, null],
  ['010202', null, '010202', 'ARAMANGO'],
  ['10202', '150101', '10202', null],
  ['999999', '150101', '999999', null],
  // A former code keeps its number and gets today's names; a district of another year has its own name.
  ['160109', null, '160109', 'PUTUMAYO'],
  ['150144', null, '150144', 'SANTA MARIA DE HUACHIPA'],
])('ubigeo %j, monthly %j', (daily, monthly, code, district) => {
  const padron_mensual = monthly === null ? null : monthlyCells({ ubigeo: monthly });
  const record = recordOf(company.replace('150122', daily), { padron_mensual });
  expect([record.ubigeo, record.distrito]).toEqual([code, district]);
  expect([record.departamento === null, record.provincia === null]).toEqual([district === null, district === null]);
});

// Values that were cut off or are unknown stay as they are.
test.each([
  ['SUSPENSION TEMPORAL', '-', 'SUSPENSIÓN TEMPORAL', null],
  ['BAJA PROV. POR OFICI', 'NO HALLADO CERRADO', 'BAJA PROV. POR OFICIO', 'NO HALLADO CERRADO'],
  ['BAJA MULT.INSCR. Y O', 'NO HABIDO', 'BAJA MULT.INSCR. Y OTROS', 'NO HABIDO'],
  ['ALGO QUE NADIE VIO', 'OTRO TEXTO', 'ALGO QUE NADIE VIO', 'OTRO TEXTO'],
  ['', '--', null, null],
])('estado %j and condicion %j', (estado, condicion, shownEstado, shownCondicion) => {
  const line = company.replace('|ACTIVO|HABIDO|', `|${estado}|${condicion}|`);
  expect(recordOf(line)).toMatchObject({ estado: shownEstado, condicion: shownCondicion });
});

// A missing name, quotes, question marks and spaces inside a name are data.
test.each(['', 'SOCIEDAD     "FICTISUR S.A."', '¿AVIACIÓN? & CIA'])('the name %j is served as it is', (name) => {
  expect(recordOf(company.replace('COMERCIAL PRUEBA UNO S.A.C.', name)).nombre).toBe(name);
});
