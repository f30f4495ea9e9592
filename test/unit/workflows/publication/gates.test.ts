import { describe, expect, it } from 'vitest';
import {
  dailyRegisterGates,
  type GateSettings,
  gatesByRegister,
  smallListGates,
} from '../../../../workflows/publication/gate-settings.ts';
import { checkGates, failureText, type GateFacts, median } from '../../../../workflows/publication/gates.ts';

const rows = 1_000_000;
const companies = 130_000;

/** A normal day changes 0.14 % of the rows and deletes 0.004 %. */
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
        { column: 'nombre', emptyBefore: 3, emptyNow: 3, changedCompanies: 40, usualChangedShares: [] },
        { column: 'ubigeo', emptyBefore: 870_000, emptyNow: 870_100, changedCompanies: null, usualChangedShares: [] },
      ],
      keptCells: 3,
      notices: { notices: 250, members: 10_000, usualPerMember: [0.02, 0.03, 0.04] },
    },
  };
}

function failing(facts: GateFacts, settings: GateSettings = dailyRegisterGates): string[] {
  return checkGates(facts, settings)
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
      'kept',
      'notices',
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

  it('allow ten times the usual change of a watched column, where that is more than one percent', () => {
    const facts = normalDay();
    facts.previous.columns[0]!.changedCompanies = companies * 0.02;
    expect(failing(facts)).toEqual(['column.nombre']);
    facts.previous.columns[0]!.usualChangedShares = [0.001, 0.002, 0.9];
    expect(failing(facts)).toEqual([]);
  });

  it('stop an edition that would make more than ten times the usual notices', () => {
    const facts = normalDay();
    const notices = facts.previous.notices!;
    notices.notices = 3_000;
    expect(failing(facts)).toEqual([]);
    notices.notices = 3_001;
    expect(failing(facts)).toEqual(['notices']);
    // A customer's new long list raises the limit on the same day, since the limit is per member of a list.
    notices.members = 20_000;
    expect(failing(facts)).toEqual([]);
  });

  it('never stop fewer than a hundred events, nor the first events of a register', () => {
    const facts = normalDay();
    facts.previous.notices = { notices: 99, members: 5_000, usualPerMember: [0, 0, 0] };
    expect(failing(facts)).toEqual([]);
    facts.previous.notices.notices = 101;
    expect(failing(facts)).toEqual(['notices']);
    facts.previous.notices.usualPerMember = [];
    expect(failing(facts)).toEqual([]);
  });

  it('let a new long list make notices although the last editions made none', () => {
    const facts = normalDay();
    facts.previous.notices = { notices: 140, members: 100_000, usualPerMember: [0, 0, 0] };
    expect(failing(facts)).toEqual([]);
    facts.previous.notices.notices = 1_001;
    expect(failing(facts)).toEqual(['notices']);
  });

  it('let small lists make as many notices as a change of a fifth of the list makes, after months without any', () => {
    const notices = { notices: 114, members: 722, usualPerMember: [0, 0, 0] };
    const facts = normalDay();
    facts.previous.notices = notices;
    const passed = () => checkGates(facts, smallListGates).find(({ gate }) => gate === 'notices')!.passed;
    expect(passed()).toBe(true);
    notices.notices = 146;
    expect(passed()).toBe(false);
  });

  it('leave out what cannot be compared: empty cells under another parser, events of a register that makes none', () => {
    const facts = normalDay();
    facts.previous.columns[0]!.emptyBefore = null;
    facts.previous.notices = null;
    const names = checkGates(facts, dailyRegisterGates).map((result) => result.gate);
    expect(names).not.toContain('empty.nombre');
    expect(names).not.toContain('notices');
  });

  it('let a small list change by a fifth, and no more', () => {
    const settings = gatesByRegister.agentes_retencion;
    const list = (after: number, changed: number): GateFacts => ({
      fechaDato: '2026-11-28',
      rows: after,
      rejected: 0,
      previous: {
        fechaDato: '2026-11-27',
        rows: 7_000,
        companies: 7_000,
        kinds: [
          {
            ...{ kind: 'company', previousRows: 7_000, changed, deleted: Math.max(0, 7_000 - after) },
            usualChangedShares: Array(14).fill(0.3),
          },
        ],
        columns: [],
        keptCells: 3,
        notices: null,
      },
    });
    expect(failing(list(5_600, 1_400), settings)).toEqual([]);
    expect(failing(list(5_599, 1_401), settings)).toEqual(['rows', 'changed.company', 'deleted.company']);
    // The list has ten rows; the edition before had thousands.
    expect(failing(list(10, 0), settings)).toEqual(['rows', 'deleted.company']);
  });

  it('let a month move what a day may not', () => {
    const facts = normalDay();
    facts.rows = rows * 0.95;
    facts.previous.kinds[1]!.changed = (rows - companies) * 0.4;
    facts.previous.kinds[1]!.deleted = rows * 0.06;
    expect(failing(facts, gatesByRegister.padron_mensual)).toEqual([]);
    expect(failing(facts)).toEqual(['rows', 'changed.person', 'deleted.person', 'empty.ubigeo']);
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
        columns: [{ column: 'estado', emptyBefore: 0, emptyNow: 99, changedCompanies: 99, usualChangedShares: [] }],
        keptCells: 3,
        notices: { notices: 99, members: 300, usualPerMember: [0] },
      },
    };
    expect(failing(facts)).toEqual([]);
    facts.previous!.kinds[0]!.changed = 100;
    expect(failing(facts)).toEqual(['changed.company']);
  });

  it('stop an edition in which a column came empty whose cells keep their value', () => {
    const facts = normalDay();
    facts.previous!.keptCells = rows * 0.02;
    expect(failing(facts)).toEqual([]);
    facts.previous!.keptCells = rows * 0.03;
    expect(failing(facts)).toEqual(['kept']);
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
