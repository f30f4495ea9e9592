import { expect, test } from 'vitest';
import { recordOf } from '../../../support/api/taxpayer-records.ts';

/** The address of a line in the register's format. */
function addressOf(line: string): string | null {
  return recordOf(line).direccion;
}

test.each([
  [
    '20990000019|COMERCIAL PRUEBA UNO S.A.C.|ACTIVO|HABIDO|150122|AV.|EJEMPLO DEL NORTE|URB.|LAS PRUEBAS II ETAPA|055|1603|-|-|-|-|',
    'AV. EJEMPLO DEL NORTE NRO. 055 INT. 1603 URB. LAS PRUEBAS II ETAPA',
  ],
  // `----` marks an unknown kind of zone, whose name stays. SN is the register's own word for no number.
  [
    "20990000027|D'PRUEBA & CIA S.R.L.|BAJA DE OFICIO|NO HABIDO|130101|JR.|DE LOS ENSAYOS|----|CERCADO|SN|-|-|-|-|-|",
    'JR. DE LOS ENSAYOS NRO. SN CERCADO',
  ],
  [
    '20990000035|X|ACTIVO|NO HALLADO|040101|----|CARR. PRUEBA|-|-|KM 7|-|-|-|-|38.2|',
    'CARR. PRUEBA NRO. KM 7 KM. 38.2',
  ],
  // 901 is a flat and B2 a block, although the file's labels suggest a block and a kilometre.
  [
    '20990000043|ACME PERÚ S.A.A.|ACTIVO|HABIDO|150131|CAL.|UNO|Z.I.|-.-|480|PIS6|12|901|B2|-|',
    'CAL. UNO NRO. 480 INT. PIS6 DPTO. 901 MZA. B2 LOTE 12 Z.I.',
  ],
  ['20990000060|X|ACTIVO|PENDIENTE|250307|-|-|A.H.|25 DE ENERO|-|--|4|-|F|-|', 'MZA. F LOTE 4 A.H. 25 DE ENERO'],
  ['20990000060|X|ACTIVO|HABIDO|250307|AV.|UNO|-|-|S/N| |-|-|-|-|', 'AV. UNO NRO. S/N'],
  ['20990000060|X|ACTIVO|HABIDO|250307|AV.|  DOS   ESPACIOS |-|-|0|-|-|-|-|-|', 'AV. DOS ESPACIOS NRO. 0'],
  ['10990000013|X|ACTIVO|HABIDO|-|-|-|-|-|-|-|-|-|-|-|', null],
  ['20990000001||ACTIVO|HABIDO|150101|-|-|-|-|-|-|-|-|-|-|', null],
])('%s', (line, address) => expect(addressOf(line)).toBe(address));
