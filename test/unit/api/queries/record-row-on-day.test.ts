import { expect, test } from 'vitest';
import { cellsByName } from '../../../../api/queries/record.ts';
import { rowOnDay } from '../../../../api/queries/record-on-day.ts';
import type { EarlierRow } from '../../../../api/queries/register-changes.ts';
import type { EditionFacts } from '../../../../pipelines/editions/editions.ts';
import { type RegisterName, registers } from '../../../../schemas/registers.ts';

const register = 'padron_reducido';
const fullEdition = 7;

function facts(name: RegisterName, number: number): EditionFacts {
  const isFull = number === 1 || number === fullEdition;
  return { register: name, number, fechaDato: '2026-01-01', corrects: null, columns: [], isFull };
}

/** The row in edition 3, when the current row has version `version`. */
function asOfThree(version: number, earlier: readonly EarlierRow[], isDeleted = false) {
  const row = { register: registers[register].code, version, isDeleted, cells: isDeleted ? [] : ['now'] };
  return rowOnDay({ register, row, edition: 3 }, earlier, facts);
}
const change = (edition: number, before: readonly string[] | null, name: RegisterName = register): EarlierRow => ({
  register: name,
  edition,
  before,
});

test('a row that no later edition wrote stands as it is, one that was gone by then is gone', () => {
  expect(asOfThree(3, [])).toEqual({ edition: 3, cells: ['now'] });
  expect(asOfThree(2, [], true)).toEqual({ edition: 2, cells: null });
});

test('else what the first later change found, in whatever order changes come, and of this register alone', () => {
  const changes = [change(9, ['eight']), change(2, ['one']), change(3, ['two']), change(5, ['three'])];
  expect(asOfThree(9, [change(4, ['other'], 'padron_mensual'), ...changes])).toEqual({ edition: 5, cells: ['three'] });
});

test('one that came later was not there; one that left later was', () => {
  expect(asOfThree(4, [change(4, null)])).toEqual({ edition: 4, cells: null });
  expect(asOfThree(4, [change(4, ['three'])], true)).toEqual({ edition: 4, cells: ['three'] });
});

test('a re-baseline says rows again: it changes nothing of the days before', () => {
  expect(asOfThree(fullEdition, [])).toEqual({ edition: fullEdition, cells: ['now'] });
  expect(asOfThree(9, [change(9, ['seven'])])).toEqual({ edition: 9, cells: ['seven'] });
});

test('a row of a later edition without its change is unknown, never told as if it had stood', () => {
  expect(asOfThree(6, [])).toBe('unknown');
  expect(asOfThree(6, [change(2, ['one'])])).toBe('unknown');
});

test('cells are named by the edition that wrote them; what was not known on the day is empty', () => {
  const today = registers.agentes_retencion.columns.map(({ name }) => name);
  const name = registers.agentes_retencion.name;
  expect(cellsByName(name, ['A', 'B', 'C'], today)).toEqual(['A', 'B', 'C']);
  expect(cellsByName(name, ['C', 'X', 'A'], ['resolucion', 'gone', 'nombre'])).toEqual(['A', '', 'C']);
  expect(cellsByName(name, ['A', 'B', 'C'], today, ['nombre', 'resolucion'])).toEqual(['A', '', 'C']);
});
