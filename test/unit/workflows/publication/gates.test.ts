import { describe, expect, it } from 'vitest';
import {
  checkGates,
  dailyRegisterGates,
  failureText,
  type GateFacts,
  median,
} from '../../../../workflows/publication/gates.ts';

const rows = 1_000_000;
const companies = 130_000;

/** A normal day: 0.14 % changed, 0.004 % deleted. */
function normalDay(): GateFacts & { previous: NonNullable<GateFacts['previous']> } {
  return {
    fechaDato: '2026-11-28',
    rows: rows + 100,
    rejected: 2,
    previous: {
      fechaDato: '2026-11-27',
      rows,
      companies,
      kinds: [
        { kind: 'company', previousRows: companies, changed: 400, deleted: 5, usualChangedShares: [0.002, 0.003] },
        { kind: 'person', previousRows: rows - companies, changed: 1_000, deleted: 35, usualChangedShares: [] },
      ],
      columns: [
        { column: 'nombre', emptyBefore: 3, emptyNow: 3, changedCompanies: 40 },
        { column: 'ubigeo', emptyBefore: 870_000, emptyNow: 870_100, changedCompanies: null },
      ],
    },
  };
}

function failing(facts: GateFacts): string[] {
  return checkGates(facts, dailyRegisterGates)
    .filter((result) => !result.passed)
    .map((result) => result.gate);
}

describe('gates', () => {
  it('let a normal day pass, and say each value and limit', () => {
    const results = checkGates(normalDay(), dailyRegisterGates);
    expect(failureText(results)).toBeNull();
    expect(results.map((result) => result.gate)).toEqual([
      'header',
      'rejected',
      'date',
      'rows',
      'changed.company',
      'deleted.company',
      'changed.person',
      'deleted.person',
      'column.nombre',
      'empty.nombre',
      'empty.ubigeo',
    ]);
    for (const result of results) expect(result.text).not.toBe('');
  });

  it('stop a publication with 60 % of the rows', () => {
    const facts = normalDay();
    facts.rows = rows * 0.6;
    facts.previous.kinds[1]!.deleted = rows * 0.4;
    expect(failing(facts)).toContain('rows');
    expect(failing(facts)).toContain('deleted.person');
    expect(failureText(checkGates(facts, dailyRegisterGates))).toContain('600000 rows where the previous edition has');
  });

  it('stop a publication in which every name changed', () => {
    const facts = normalDay();
    facts.previous.columns[0]!.changedCompanies = companies;
    facts.previous.kinds[0]!.changed = companies;
    expect(failing(facts)).toEqual(['changed.company', 'column.nombre']);
  });

  it.each([['rows', 980_000, 979_999]])('hold exactly at the limit of %s', (gate, passes, fails) => {
    const facts = normalDay();
    facts.rows = passes;
    facts.previous.columns = [];
    expect(failing(facts)).toEqual([]);
    facts.rows = fails;
    expect(failing(facts)).toEqual([gate]);
  });

  it('allow ten times the usual change of a kind, where that is more than one percent', () => {
    const facts = normalDay();
    facts.previous.kinds[0]!.changed = companies * 0.02;
    expect(failing(facts)).toEqual([]);
    facts.previous.kinds[0]!.changed = companies * 0.03;
    expect(failing(facts)).toEqual(['changed.company']);
  });

  it('look at no more editions than the setting says', () => {
    const facts = normalDay();
    facts.previous.kinds[0]!.usualChangedShares = [...Array(14).fill(0.0001), ...Array(100).fill(0.5)];
    facts.previous.kinds[0]!.changed = companies * 0.02;
    expect(failing(facts)).toEqual(['changed.company']);
  });

  it('stop a rejected share above a hundredth of a percent', () => {
    const facts = normalDay();
    facts.rejected = 100;
    expect(failing(facts)).toEqual([]);
    facts.rejected = 102;
    expect(failing(facts)).toEqual(['rejected']);
  });

  it('stop a column that became empty, or full', () => {
    const facts = normalDay();
    facts.previous.columns[1]!.emptyNow = 870_100 + 25_000;
    expect(failing(facts)).toEqual(['empty.ubigeo']);
    facts.previous.columns[1]!.emptyNow = 870_100 - 25_000;
    expect(failing(facts)).toEqual(['empty.ubigeo']);
  });

  it('stop a date before the head, and allow the same one', () => {
    const facts = normalDay();
    facts.fechaDato = '2026-11-26';
    expect(failing(facts)).toEqual(['date']);
    facts.fechaDato = '2026-11-27';
    expect(failing(facts)).toEqual([]);
  });

  it('never fail a share below 100 affected rows: small publications pass', () => {
    const facts: GateFacts = {
      fechaDato: '2026-11-28',
      rows: 2_000,
      rejected: 9,
      previous: {
        fechaDato: '2026-11-27',
        rows: 2_050,
        companies: 300,
        kinds: [{ kind: 'company', previousRows: 300, changed: 99, deleted: 60, usualChangedShares: [] }],
        columns: [{ column: 'estado', emptyBefore: 0, emptyNow: 99, changedCompanies: 99 }],
      },
    };
    expect(failing(facts)).toEqual([]);
    facts.previous!.kinds[0]!.changed = 100;
    expect(failing(facts)).toEqual(['changed.company']);
  });

  it('ask a first edition only for its header and its lines', () => {
    const facts: GateFacts = { ...normalDay(), previous: null };
    expect(checkGates(facts, dailyRegisterGates).map((result) => result.gate)).toEqual(['header', 'rejected']);
    facts.rejected = 1_000;
    expect(failing(facts)).toEqual(['rejected']);
  });

  it('take the middle of what exists', () => {
    expect(median([])).toBe(0);
    expect(median([3])).toBe(3);
    expect(median([5, 1, 3])).toBe(3);
    expect(median([4, 1, 3, 2])).toBe(2.5);
  });
});
