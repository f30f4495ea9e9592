import type { Decree } from '../types.ts';

const name = 'Día no laborable para el sector público';

function national(decree: string, dates: readonly string[], completesYear: number | null): Decree {
  return {
    decree,
    scope: 'national',
    taxBusinessDays: true,
    days: dates.map((date) => ({ date, name })),
    completesYear,
  };
}

/**
 * The decrees of national non-working days, from the official gazette. Days of Lima and Callao alone (14 to 16 November
 * 2024) are not here: only national days exist in this calendar. 2020 and 2021 are known in part, so they complete nothing.
 */
export const decrees: readonly Decree[] = [
  national('D.S. 197-2019-PCM, modificado por D.S. 125-2020-PCM', ['2020-10-09', '2020-12-31'], null),
  national(
    'D.S. 161-2021-PCM',
    ['2021-10-11', '2021-11-02', '2021-12-24', '2021-12-27', '2021-12-31', '2022-01-03'],
    null,
  ),
  national(
    'D.S. 033-2022-PCM',
    ['2022-05-02', '2022-06-24', '2022-08-29', '2022-10-07', '2022-10-31', '2022-12-26', '2022-12-30'],
    2022,
  ),
  national(
    'D.S. 151-2022-PCM',
    ['2023-01-02', '2023-04-28', '2023-06-30', '2023-07-27', '2023-10-09', '2023-12-07', '2023-12-26', '2024-01-02'],
    2023,
  ),
  national(
    'D.S. 011-2024-PCM',
    ['2024-07-26', '2024-10-07', '2024-12-06', '2024-12-23', '2024-12-24', '2024-12-30', '2024-12-31'],
    null,
  ),
  national('D.S. 066-2024-PCM', ['2024-07-27'], 2024),
  national('D.S. 042-2025-PCM', ['2025-05-02', '2025-12-26', '2026-01-02'], 2025),
  national('D.S. 075-2026-PCM', ['2026-07-27'], 2026),
];
