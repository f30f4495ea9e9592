import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { changesOf, listHeader, SmallBench } from './workbench.ts';

let bench: SmallBench;
beforeEach(() => {
  bench = new SmallBench('agentes_retencion');
});
afterEach(() => bench.remove());

const uno = '20990000019|"COMERCIAL PRUEBA UNO S.A.C."|01/10/2023|RS R.S.186-2023|';
const dos = '20990000027|D´PRUEBA & CIA S.R.L.|01/06/2012|RS R.S. 096-2012|';
const ana = '10990000013|ÑAHUIS QUISPE ÁNGEL|01/01/2020|RS R.S.001-2020|';

describe('a list', () => {
  it('is a baseline first, and then what appears, differs and disappears', async () => {
    const first = await bench.publish([listHeader, uno, dos]);
    expect(first).toMatchObject({ lines: 2, rows: 2, baseline: 2, stateRows: 2, header: listHeader });
    const changed = uno.replace('186-2023', '187-2023');
    const second = await bench.publish([listHeader, ana, changed]);
    expect(await changesOf(second)).toEqual([
      {
        op: 'c',
        key: '10990000013',
        before: null,
        after: ['ÑAHUIS QUISPE ÁNGEL', '2020-01-01', 'RS R.S.001-2020'],
        line: 2,
      },
      {
        op: 'u',
        key: '20990000019',
        before: ['"COMERCIAL PRUEBA UNO S.A.C."', '2023-10-01', 'RS R.S.186-2023'],
        after: ['"COMERCIAL PRUEBA UNO S.A.C."', '2023-10-01', 'RS R.S.187-2023'],
        line: 3,
      },
      {
        op: 'd',
        key: '20990000027',
        before: ['D´PRUEBA & CIA S.R.L.', '2012-06-01', 'RS R.S. 096-2012'],
        after: null,
        line: null,
      },
    ]);
  });
});
