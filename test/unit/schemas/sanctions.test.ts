import { describe, expect, it } from 'vitest';
import { inForce, sanctionsOf } from '../../../schemas/sanctions.ts';

describe('a sanction', () => {
  const term = { desde: '2025-01-15', hasta: '2026-04-15' };

  it('is in force from its first day to its last, both included', () => {
    const days = ['2025-01-14', '2025-01-15', '2025-12-31', '2026-04-15', '2026-04-16'];
    expect(days.map((day) => inForce(term, day))).toEqual([false, true, true, true, false]);
    expect(inForce({ desde: '2025-01-15', hasta: '2025-01-15' }, '2025-01-15')).toBe(true);
  });

  it('goes on without an end', () => {
    expect(inForce({ desde: '1993-03-01', hasta: null }, '2099-12-31')).toBe(true);
    expect(inForce({ desde: '1993-03-01', hasta: null }, '1993-02-28')).toBe(false);
  });

  it('was never in force when it ends before it starts', () => {
    const annulled = { desde: '2025-01-15', hasta: '2025-01-14' };
    expect(['2025-01-13', '2025-01-14', '2025-01-15', '2025-01-16'].map((day) => inForce(annulled, day))).toEqual([
      false,
      false,
      false,
      false,
    ]);
  });

  it('is undecided only when the missing date would decide', () => {
    expect(inForce({ desde: null, hasta: '2026-04-15' }, '2026-04-16')).toBe(false);
    expect(inForce({ desde: null, hasta: '2026-04-15' }, '2026-04-15')).toBeNull();
    expect(inForce({ desde: '2025-01-15', hasta: 'HASTA NUEVA ORDEN' }, '2025-01-14')).toBe(false);
    expect(inForce({ desde: '2025-01-15', hasta: 'HASTA NUEVA ORDEN' }, '2025-01-15')).toBeNull();
    expect(inForce({ desde: null, hasta: null }, '2025-01-15')).toBeNull();
  });
});

it("a row's cell is read, and anything that is not a list of sanctions is refused", () => {
  expect(sanctionsOf('[]')).toEqual([]);
  expect(() => sanctionsOf('[{"nombre":"A"}]')).toThrow();
});
