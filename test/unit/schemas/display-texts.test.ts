import { expect, test } from 'vitest';
import { displayCondicion, displayEstado, storedCondiciones, storedEstados } from '../../../schemas/display-texts.ts';

test.each([
  ['ACTIVO', 'ACTIVO'],
  ['BAJA PROV. POR OFICI', 'BAJA PROV. POR OFICIO'],
  ['SUSPENSION TEMPORAL', 'SUSPENSIÓN TEMPORAL'],
  ['SUSPENSIÓN TEMPORAL', 'SUSPENSIÓN TEMPORAL'],
  ['ANUL.PROVI.-ACTO ILI', 'ANUL.PROVI.-ACTO ILÍCITO'],
  ['BAJA MULT.INSCR. Y O', 'BAJA MULT.INSCR. Y OTROS'],
  ['NUM. INTERNO IDENTIF', 'NÚM. INTERNO IDENTIF.'],
  ['INHABILITADO-VENT.UN', 'INHABILITADO-VENT.ÚNICA'],
  ['ANULACION - ERROR SU', 'ANULACIÓN - ERROR SUNAT'],
  ['ANULACION - ACTO ILI', 'ANULACIÓN - ACTO ILÍCITO'],
  [' BAJA  DE OFICIO ', 'BAJA DE OFICIO'],
  // A text that no table has stays as it is, and so does a cut text whose end is unknown.
  ['PENDIENTE DE INI. DE', 'PENDIENTE DE INI. DE'],
  ['BAJA PROVISIONAL', 'BAJA PROVISIONAL'],
  // Registers write these where they carry no value.
  ['', null],
  [' ', null],
  ['-', null],
  ['--', null],
  [' - ', null],
])('estado %j is shown as %j', (stored, shown) => expect(displayEstado(stored)).toBe(shown));

test.each([
  ['HABIDO', 'HABIDO'],
  ['NO HABIDO', 'NO HABIDO'],
  ['NO HALLADO', 'NO HALLADO'],
  ['NO HALLADO SE MUDO D', 'NO HALLADO SE MUDÓ DE DOMICILIO'],
  ['NO HALLADO FALLECIO', 'NO HALLADO FALLECIÓ'],
  ['NO HALLADO NO EXISTE', 'NO HALLADO NO EXISTE DOMICILIO'],
  ['NO HALLADO NRO.PUERT', 'NO HALLADO NRO.PUERTA NO EXISTE'],
  ['NO HALLADO DESTINATA', 'NO HALLADO DESTINATARIO DESCONOCIDO'],
  ['NO HALLADO OTROS MOT', 'NO HALLADO OTROS MOTIVOS'],
  ['NO EXISTE LA DIRECCI', 'NO EXISTE LA DIRECCIÓN DECLARADA'],
  ['AUSENCIA DE PERSONA', 'AUSENCIA DE PERSONA CAPAZ'],
  ['NO APLICABLE', 'NO APLICABLE'],
  ['NO APLICABLE X TRAMI', 'NO APLICABLE X TRÁMITE DE REVERSIÓN'],
  // A dash means unknown and never becomes a state.
  ['-', null],
  ['----', null],
  ['', null],
])('condicion %j is shown as %j', (stored, shown) => expect(displayCondicion(stored)).toBe(shown));

test.each(['-', '--', ' - '])('a filter %j equals no text that the register holds', (typed) => {
  expect([storedEstados(typed), storedCondiciones(typed)]).toEqual([[], []]);
  expect(storedEstados('activo')).toEqual(['ACTIVO']);
});

test.each(['SUSPENSION TEMPORAL', 'SUSPENSIÓN TEMPORAL', 'suspensión  temporal', 'SUSPENSIO\u0301N TEMPORAL'])(
  'a filter %j finds the status whether the register writes the accent or not',
  (typed) => {
    expect(storedEstados(typed)).toEqual(expect.arrayContaining(['SUSPENSION TEMPORAL', 'SUSPENSIÓN TEMPORAL']));
  },
);

test('every status that is shown is found by what is shown, however the register writes and cuts it', () => {
  const whole = ['NO HALLADO SE MUDÓ DE DOMICILIO', 'NO EXISTE LA DIRECCIÓN DECLARADA', 'NO HALLADO FALLECIÓ'];
  for (const shown of whole) {
    const plain = shown.normalize('NFD').replace(/\p{Mn}/gu, '');
    const written = [shown, plain, shown.slice(0, 20).trim(), plain.slice(0, 20).trim()];
    for (const cell of written) expect(displayCondicion(cell)).toBe(shown);
    expect(storedCondiciones(shown)).toEqual(expect.arrayContaining(written));
    expect(storedCondiciones(plain)).toEqual(expect.arrayContaining(written));
  }
  // A text that no table has is looked for as it was typed and without accents.
  expect(storedEstados('baja por fusión')).toEqual(['BAJA POR FUSION', 'BAJA POR FUSIÓN']);
});
