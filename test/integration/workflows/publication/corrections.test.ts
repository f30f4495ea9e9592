import { chmod, readFile, rm, writeFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { decodeRecords, openChangeFile } from '../../../../pipelines/changes/change-file.ts';
import { CompareError } from '../../../../pipelines/changes/errors.ts';
import type { ChangeRecord } from '../../../../pipelines/changes/record.ts';
import { findCorrection, requestCorrection } from '../../../../pipelines/editions/corrections.ts';
import { approvePublication } from '../../../../pipelines/editions/decisions.ts';
import { type Edition, findEdition } from '../../../../pipelines/editions/editions.ts';
import { confirmDate } from '../../../../pipelines/editions/freshness.ts';
import { pauseRegister, readHead, resumeRegister } from '../../../../pipelines/editions/heads.ts';
import { findPublication, type Publication } from '../../../../pipelines/editions/publications.ts';
import { servedEditions } from '../../../../pipelines/editions/served.ts';
import type { SmallFormat } from '../../../../pipelines/registers/module.ts';
import { registerModules } from '../../../../pipelines/registers/modules.ts';
import { inTransaction } from '../../../../pipelines/runtime/postgres.ts';
import { registers } from '../../../../schemas/registers.ts';
import { comparePublication } from '../../../../workflows/publication/compare.ts';
import { nextWork, verifyPublication } from '../../../../workflows/publication/judge.ts';
import { makeStepHarness, type StepHarness } from '../../../support/publication/step-harness.ts';
import { type ListRows, listRegister, listRows, listRuc, listZip, showList } from '../../../support/watch/list-days.ts';

// Operators' orders (undo, pause, re-baseline), step by step on a real catalogue and real files.
const register = listRegister;
const order = { by: 'Ana Ruiz', reason: 'another file' };
let harness: StepHarness;
let days = 0;
/** The file on the site. */
let rows: ListRows = listRows(400);
let bytes: Buffer;

beforeAll(async () => {
  harness = await makeStepHarness(inject('endpoints'));
});
afterAll(() => harness?.close());

/** Puts a newer file on the site; with nothing changed it has the same bytes. */
async function show(change: (rows: ListRows) => void = () => {}): Promise<void> {
  days += 1;
  rows = new Map(rows);
  change(rows);
  bytes = await listZip(rows);
  showList(harness.site, bytes, new Date(Date.UTC(2026, 9, days, 12)));
}

async function publish(change?: (rows: ListRows) => void): Promise<Publication> {
  await show(change);
  return (await harness.run(register))!;
}

async function revert(number: number): Promise<Edition> {
  const { id } = await inTransaction(harness.pool, (client) => requestCorrection(client, register, number, order));
  await harness.settle(register);
  const correction = await findCorrection(harness.pool, id);
  expect(correction).toMatchObject({ state: 'publicada', requested_by: 'Ana Ruiz', edition: expect.any(Number) });
  return (await findEdition(harness.pool, register, correction!.edition!))!;
}

const head = () => readHead(harness.pool, register);
const served = async () => (await servedEditions(harness.pool)).get(register);

async function changesOf({ change_file_sha256: sha256 }: Edition): Promise<string[]> {
  const path = await harness.parts.archive.localFile({ register, kind: 'changes', sha256 });
  const changes: string[] = [];
  for await (const { op, ruc, after, corrects } of decodeRecords<ChangeRecord>(path)) {
    changes.push([op, ruc, after?.nombre ?? '-', corrects].join(' '));
  }
  return changes;
}

describe('an edition that is undone', () => {
  it('becomes an edition of its own; what a later edition changed again stays and is counted', async () => {
    await publish();
    await publish((list) => {
      list.set(1, 'ALTERADA UNO').set(2, 'ALTERADA DOS').delete(3);
      list.set(500, 'NUEVA');
    });
    const third = await publish((list) => list.set(2, 'ALTERADA OTRA VEZ'));
    const correction = await revert(2);
    expect(correction).toMatchObject({
      ...{ number: 4, corrects: 2, publication_id: null, changes: 3, overlay_sha256: expect.any(String) },
      ...{ fecha_dato: third.fecha_dato, published_at: third.published_at },
      counts: { inserted: 1, updated: 1, deleted: 1, conflicts: 1, stateRows: 400 },
    });
    expect(await changesOf(correction)).toEqual([
      `u ${listRuc(1)} EMPRESA DE PRUEBA 1 2`,
      `c ${listRuc(3)} EMPRESA DE PRUEBA 3 2`,
      `d ${listRuc(500)} - 2`,
    ]);
    expect(await head()).toMatchObject({ edition: 4, publication_sha256: third.sha256, fecha_dato: third.fecha_dato });
  });

  it('is served with the dates of the publication under it, also when that one is published again', async () => {
    expect(await served()).toMatchObject({ number: 4, fechaDato: '2026-10-03', sha256: null });
    expect(await publish()).toMatchObject({ state: 'repetida' });
    expect(await served()).toMatchObject({ number: 4, fechaDato: '2026-10-04', sha256: null });
    // The register's page dates the same bytes to a later day.
    expect(await confirmDate(harness.pool, register, (await head()).publication_sha256!, '2026-10-05')).toBe(true);
    expect(await served()).toMatchObject({ number: 4, fechaDato: '2026-10-05', sha256: null });
    days += 1;
  });

  it('is the base of the next difference: a file that still has it brings it back', async () => {
    const next = await publish((list) => list.set(10, 'ALTERADA DIEZ'));
    expect(next).toMatchObject({ state: 'publicada', edition: 5 });
    const { counts, corrects } = (await findEdition(harness.pool, register, 5))!;
    expect({ counts, corrects }).toMatchObject({ counts: { inserted: 1, updated: 2, deleted: 1 }, corrects: null });
  });

  it('is undone once; the first one and one that is not there never are', async () => {
    const ask = (number: number) =>
      inTransaction(harness.pool, (client) => requestCorrection(client, register, number, order));
    await expect(ask(2)).rejects.toMatchObject({ code: 'already_corrected' });
    await expect(ask(1)).rejects.toMatchObject({ code: 'not_correctable' });
    await expect(ask(99)).rejects.toMatchObject({ code: 'edition_unknown' });
  });
});

describe('bytes that were undone', () => {
  it('go to quarantine when the site offers them again, and never hold back a newer file', async () => {
    const bad = await publish((list) => list.set(20, 'DE OTRO PADRON'));
    await revert(bad.edition!);
    const before = await head();
    const again = await publish();
    expect(again).toMatchObject({ sha256: bad.sha256, state: 'en_cuarentena', edition: null });
    expect(again.state_reason).toMatch(/^reverted: /);
    expect(await confirmDate(harness.pool, register, bad.sha256!, '2027-01-01')).toBe(false);
    expect(await head()).toMatchObject({ edition: before.edition, fecha_dato: before.fecha_dato });
    const newer = await publish((list) => list.set(20, 'EMPRESA DE PRUEBA 20').set(21, 'ALTERADA'));
    expect(newer).toMatchObject({ state: 'publicada', edition: before.edition + 1 });
    expect((await findEdition(harness.pool, register, newer.edition!))!.counts).toMatchObject({ updated: 1 });
  });

  it('become an edition again when an operator approves them', async () => {
    const bad = await publish((list) => list.set(30, 'ALTERADA TREINTA'));
    await revert(bad.edition!);
    const again = await publish();
    const decision = { by: 'Ana Ruiz', reason: 'it was right after all', fechaDato: null };
    await inTransaction(harness.pool, (client) => approvePublication(client, again.id, decision));
    await harness.settle(register);
    const { edition } = (await findPublication(harness.pool, again.id))!;
    expect(await changesOf((await findEdition(harness.pool, register, edition!))!)).toEqual([
      `u ${listRuc(30)} ALTERADA TREINTA `,
    ]);
    // After the approval these bytes are the head's again, so fetching them only moves its date.
    expect(await publish()).toMatchObject({ state: 'repetida' });
  });
});

describe('a paused register', () => {
  it('downloads and makes no edition; undoing goes on; resumed, it takes what waited', async () => {
    const last = await publish((list) => list.set(40, 'ALTERADA CUARENTA'));
    await pauseRegister(harness.pool, register, order);
    const waiting = await publish((list) => list.set(41, 'ALTERADA'));
    expect(waiting).toMatchObject({ state: 'descargada', edition: null });
    const correction = await revert(last.edition!);
    expect(await head()).toMatchObject({ edition: correction.number, paused_by: 'Ana Ruiz' });
    await resumeRegister(harness.pool, register);
    await harness.settle(register);
    const { state, edition } = (await findPublication(harness.pool, waiting.id))!;
    expect({ state, edition }).toEqual({ state: 'publicada', edition: correction.number + 1 });
  });
});

describe('an edition that another parser read', () => {
  it('is followed by a full one: what really changed is a change, everything else is silent', async () => {
    const { edition } = await head();
    await harness.pool.query('UPDATE edition SET parser_version = 0 WHERE register = $1', [register]);
    const next = await publish((list) => list.set(50, 'ALTERADA CINCUENTA').delete(51));
    expect(next).toMatchObject({ state: 'publicada', edition: edition + 1 });
    const made = (await findEdition(harness.pool, register, edition + 1))!;
    const baseline = rows.size - 1;
    expect(made).toMatchObject({ parser_version: 1, counts: { baseline, updated: 1, deleted: 1, inserted: 0 } });
    expect(next.gates.filter((gate) => !gate.passed)).toEqual([]);
    await expect(
      inTransaction(harness.pool, (client) => requestCorrection(client, register, edition + 1, order)),
    ).rejects.toMatchObject({ code: 'not_correctable' });
  });

  it('and one whose row store is full begin the store anew: a full edition, silent of what did not change', async () => {
    const { edition } = await head();
    const compare = harness.parts.compare;
    harness.parts.compare = (input, ...rest) => {
      if (input.previous == null) throw new CompareError('row_store_full', 'The row store has outgrown its positions.');
      return compare(input, ...rest);
    };
    try {
      const next = await publish((list) => list.set(54, 'ALTERADA CUATRO'));
      expect(next).toMatchObject({ state: 'publicada', edition: edition + 1 });
      const { counts } = (await findEdition(harness.pool, register, edition + 1))!;
      expect(counts).toMatchObject({ baseline: rows.size - 1, updated: 1, inserted: 0, deleted: 0 });
    } finally {
      harness.parts.compare = compare;
    }
  });

  it('a comparison that an earlier release left is made anew: the edition says of itself what its change file says', async () => {
    const { edition } = await head();
    await show((list) => list.set(53, 'ALTERADA TRES'));
    const { id } = (await harness.fetch(register))!;
    await verifyPublication(harness.parts, register, id);
    await comparePublication(harness.parts, register, id);
    expect(await findPublication(harness.pool, id)).toMatchObject({ state: 'comparada' });
    const released = registers[register] as { parserVersion: number };
    const { parserVersion } = released;
    released.parserVersion += 1;
    try {
      await harness.settle(register);
      expect(await findPublication(harness.pool, id)).toMatchObject({ state: 'publicada', edition: edition + 1 });
      const made = (await findEdition(harness.pool, register, edition + 1))!;
      expect(made.counts).toMatchObject({ baseline: rows.size - 1, updated: 1 });
      const path = await harness.parts.archive.localFile({
        register,
        kind: 'changes',
        sha256: made.change_file_sha256,
      });
      const file = await openChangeFile(path);
      await file.close();
      expect(made).toMatchObject({ parser_version: file.header.parserVersion, columns: file.header.columns });
      expect(made.parser_version).toBe(parserVersion + 1);
    } finally {
      released.parserVersion = parserVersion;
    }
  });

  it('and that this one cannot read at all, keeps the next from being compared: the reason names the old one', async () => {
    const before = await head();
    const [old] = (await harness.pool.query('SELECT publication_id FROM edition WHERE number = $1', [before.edition]))
      .rows;
    await harness.pool.query('UPDATE edition SET parser_version = 0 WHERE register = $1', [register]);
    const module = registerModules[register];
    const format = module.format as SmallFormat;
    const read = (text: Buffer) => {
      if (!text.includes('ALTERADA CINCUENTA')) return format.read(text);
      throw new CompareError('header_changed', 'The header changed: it has 9 cells, expected 5.');
    };
    module.format = { size: 'small', read };
    try {
      const next = await publish((list) => list.set(50, 'OTRA CINCUENTA'));
      expect(next).toMatchObject({ state: 'en_cuarentena', edition: null });
      expect(next.state_reason).toBe(
        `previous_unreadable: this release cannot read publication ${old.publication_id}, on which edition ${before.edition} stands: ` +
          'The header changed: it has 9 cells, expected 5. Run a release that reads both; the next publication then needs nobody, this one an approval.',
      );
      expect(await head()).toMatchObject({ edition: before.edition });
      module.format = format;
      const following = await publish((list) => list.set(52, 'ALTERADA'));
      expect(following).toMatchObject({ state: 'publicada', edition: before.edition + 1 });
    } finally {
      module.format = format;
    }
  });

  it('and whose file the archive lost, keeps the next from being compared until somebody brings it back', async () => {
    const { archive } = harness.parts;
    const { edition, publication_sha256: sha256 } = await head();
    const [name, lost] = [{ register, kind: 'publications', sha256: sha256! } as const, bytes];
    await archive.remove(name);
    await harness.pool.query('UPDATE edition SET parser_version = 0 WHERE register = $1', [register]);
    const { id, ...next } = await publish((list) => list.set(58, 'ALTERADA OCHO'));
    expect(next).toMatchObject({ state: 'en_cuarentena', edition: null });
    expect(next.state_reason).toBe(
      `archive_incomplete: the archive has no ${register}/publications/${sha256}; bring the right file back ` +
        `(the last part of its name is the SHA-256 of its bytes), then: npx padron publications approve ${id}`,
    );
    const file = await archive.incomingFile('brought-back');
    await writeFile(file, lost);
    await archive.put(name, file);
    await inTransaction(harness.pool, (client) => approvePublication(client, id, { ...order, fechaDato: null }));
    await harness.settle(register);
    expect(await findPublication(harness.pool, id)).toMatchObject({ state: 'publicada', edition: edition + 1 });
  });
});

describe('what is damaged in the archive', () => {
  async function damage(kind: 'publications' | 'changes', sha256: string): Promise<string> {
    const path = await harness.parts.archive.localFile({ register, kind, sha256 });
    await chmod(path, 0o644);
    await writeFile(path, 'other bytes');
    return path;
  }

  it('ends a publication in quarantine with the command that takes it on once its file is right again', async () => {
    await show((list) => list.set(60, 'ALTERADA SESENTA'));
    const right = bytes;
    const { id, sha256 } = (await harness.fetch(register))!;
    const path = await damage('publications', sha256!);
    await harness.settle(register);
    const found = await findPublication(harness.pool, id);
    expect(found).toMatchObject({ state: 'en_cuarentena', edition: null });
    expect(found!.state_reason).toMatch(
      new RegExp(`^archive_damaged: ${register}/publications/${sha256} in the archive is damaged: .*approve ${id}$`),
    );
    // Neither the sweeper nor the next probe takes it up again.
    expect(await nextWork(harness.parts, register)).toEqual({ kind: 'none' });
    expect(await harness.run(register)).toBeNull();
    await writeFile(path, right);
    await inTransaction(harness.pool, (client) => approvePublication(client, id, { ...order, fechaDato: null }));
    await harness.settle(register);
    expect(await findPublication(harness.pool, id)).toMatchObject({ state: 'publicada' });
  });

  it('ends it there as well when it is damaged between the download and its record', async () => {
    await show((list) => list.set(61, 'ALTERADA UNO'));
    const { archive } = harness.parts;
    harness.parts.archive = new Proxy(archive, {
      get(target, property) {
        const member = target[property as keyof typeof target] as (...args: unknown[]) => Promise<unknown>;
        if (property !== 'put') return member.bind(target);
        return async (...args: unknown[]) => {
          const stored = await member.apply(target, args);
          await damage('publications', (args[0] as { sha256: string }).sha256);
          return stored;
        };
      },
    });
    try {
      const fetched = await harness.fetch(register);
      expect(fetched).toMatchObject({ state: 'en_cuarentena', sha256: expect.any(String) });
      expect(fetched!.state_reason).toMatch(/^archive_damaged: /);
    } finally {
      harness.parts.archive = archive;
    }
  });

  it('ends a publication whose comparison needs a damaged change file', async () => {
    const { change_file_sha256: sha256 } = await head();
    const path = await harness.parts.archive.localFile({ register, kind: 'changes', sha256: sha256! });
    const right = await readFile(path);
    await damage('changes', sha256!);
    await rm(harness.parts.workDir, { recursive: true });
    const next = await publish((list) => list.set(62, 'ALTERADA DOS'));
    expect(next).toMatchObject({ state: 'en_cuarentena', edition: null });
    expect(next.state_reason).toMatch(
      new RegExp(`^archive_damaged: ${register}/changes/${sha256} .*approve ${next.id}$`),
    );
    await writeFile(path, right);
    const following = await publish((list) => list.set(63, 'ALTERADA TRES'));
    expect(following).toMatchObject({ state: 'publicada' });
  });

  it('refuses the order to undo an edition whose change file it is', async () => {
    const { edition } = await publish((list) => list.set(64, 'ALTERADA CUATRO'));
    await damage('changes', (await findEdition(harness.pool, register, edition!))!.change_file_sha256);
    const { id } = await inTransaction(harness.pool, (client) => requestCorrection(client, register, edition!, order));
    await harness.settle(register);
    const correction = await findCorrection(harness.pool, id);
    expect(correction).toMatchObject({ state: 'rechazada', edition: null });
    expect(correction!.state_reason).toMatch(/^archive_damaged: .*then: npx padron editions revert agentes_retencion/);
  });
});

describe('what the archive lost', () => {
  it('ends a publication in quarantine also where it is its own file', async () => {
    await show((list) => list.set(55, 'ALTERADA CINCO'));
    const { id, sha256 } = (await harness.fetch(register))!;
    await harness.parts.archive.remove({ register, kind: 'publications', sha256: sha256! });
    await harness.settle(register);
    const found = await findPublication(harness.pool, id);
    expect(found).toMatchObject({ state: 'en_cuarentena', edition: null });
    expect(found!.state_reason).toMatch(/^archive_incomplete: /);
  });

  it('refuses the order to undo an edition whose change file is gone', async () => {
    const { edition } = await publish((list) => list.set(56, 'ALTERADA SEIS'));
    const { change_file_sha256: sha256 } = (await findEdition(harness.pool, register, edition!))!;
    await rm(await harness.parts.archive.localFile({ register, kind: 'changes', sha256 }));
    const { id } = await inTransaction(harness.pool, (client) => requestCorrection(client, register, edition!, order));
    await harness.settle(register);
    const correction = await findCorrection(harness.pool, id);
    expect(correction).toMatchObject({ state: 'rechazada', edition: null });
    expect(correction!.state_reason).toMatch(/^archive_incomplete: .*then: npx padron editions revert agentes_reten/);
  });
});
