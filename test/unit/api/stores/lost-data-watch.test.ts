import { expect, test } from 'vitest';
import { LostDataWatch } from '../../../../api/stores/lost-data-watch.ts';
import type { Logger } from '../../../../pipelines/runtime/log.ts';

const lossText = 'clickhouse_lost: run `npx padron rebuild`';

/** A watch over answers that the test sets, and the lines that it logs. */
function makeHarness() {
  const store = { answer: null as string | null | Error, isShort: true, comparisons: 0 };
  const lines: string[] = [];
  const note = (level: string) => (first: unknown, text?: string) =>
    void lines.push(`${level} ${text ?? String(first)}`);
  const log = { error: note('error'), warn: note('warn'), info: note('info') } as unknown as Logger;
  const answer = async () => {
    store.comparisons += 1;
    if (store.answer instanceof Error) throw store.answer;
    return store.answer;
  };
  const watch = new LostDataWatch({ isShort: async () => store.isShort, problem: answer }, log);
  const compareAgain = () => {
    watch.forget();
    return watch.problem();
  };
  return { store, lines, watch, compareAgain };
}

test('the first answer waits for a comparison when rows are missing, and the next ones ask no store', async () => {
  const { store, watch } = makeHarness();
  store.answer = lossText;
  expect(await Promise.all([watch.problem(), watch.problem()])).toEqual([lossText, lossText]);
  expect(await watch.problem()).toBe(lossText);
  expect(store.comparisons).toBe(1);
});

test('when no table is short, the first answer waits for no comparison', async () => {
  const { store, watch } = makeHarness();
  store.isShort = false;
  store.answer = lossText;
  expect([await watch.problem(), store.comparisons]).toEqual([null, 0]);
});

test('a loss and its end are logged once each', async () => {
  const { store, lines, compareAgain } = makeHarness();
  for (const answer of [null, lossText, lossText, null, null]) {
    store.answer = answer;
    expect(await compareAgain()).toBe(answer);
  }
  expect(lines).toEqual([`error ${lossText}`, 'info ClickHouse has all served data again']);
});

test('a comparison that fails leaves the last answer, is logged once, and is not repeated by each probe', async () => {
  const { store, lines, watch, compareAgain } = makeHarness();
  store.answer = lossText;
  await compareAgain();
  store.answer = new Error('away');
  expect([await compareAgain(), await compareAgain(), await watch.problem()]).toEqual([lossText, lossText, lossText]);
  expect(store.comparisons).toBe(3);
  expect(lines.slice(1)).toEqual(['warn ClickHouse could not be compared with the catalogue']);
});
