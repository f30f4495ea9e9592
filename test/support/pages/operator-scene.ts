import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { PublishedLines } from '../../../api/operators/published-lines.ts';
import { entryName, writeZip } from '../../../deploy/local/demo/register/publication.ts';
import { FolderArchive } from '../../../pipelines/archive/folder.ts';
import { sha256OfFile } from '../../../pipelines/archive/local-copies.ts';
import type { Change } from '../../../pipelines/changes/record.ts';
import { ensureHead } from '../../../pipelines/editions/heads.ts';
import { header } from '../../../pipelines/registers/padron-reducido.ts';
import { encodeWindows1252 } from '../../../pipelines/registers/windows-1252.ts';
import type { Pool } from '../../../pipelines/runtime/postgres.ts';
import { padronReducido } from '../../../schemas/registers.ts';
import { writeChanges } from '../registers/change-files.ts';
import { change, makeWatchRows, row } from '../watch/harness.ts';

// Three editions of the daily register, and a publication in quarantine, as the pipeline would leave them.

export const [acme, bravo, charlie, person] = ['20990000019', '20990000027', '20990000035', '10458741239'];
const register = padronReducido.name;

export interface OperatorScene {
  /** Has the folder of the archive in it. */
  folder: string;
  archive: FolderArchive;
  lines: PublishedLines;
  /** The publication in quarantine. */
  quarantined: number;
  customer: number;
  webhook: string;
  close(): Promise<void>;
}

export async function makeOperatorScene(pool: Pool): Promise<OperatorScene> {
  const folder = mkdtempSync(join(tmpdir(), 'padron-operators-'));
  const archive = new FolderArchive(join(folder, 'archive'));
  await ensureHead(pool, register);
  const rows = makeWatchRows(pool);
  const customer = await rows.account();
  await rows.list(customer, 'Proveedores', [acme, bravo]);
  const { id: webhook } = await rows.webhook(customer, 'https://example.com/avisos');

  const days = ['2026-11-24', '2026-11-25', '2026-11-26', '2026-11-27'];
  const states = [
    [acme, 'ACTIVO', 'PRIMERA EMPRESA S.A.'],
    [acme, 'SUSPENSION TEMPORAL', 'PRIMERA EMPRESA S.A.'],
    [acme, 'BAJA DEFINITIVA', 'PRIMERA EMPRESA S.A.'],
    [acme, 'ACTIVO', 'PRIMERA EMPRESA <b>S.A.</b>'],
  ] as const;
  const lines = states.map(([ruc, estado, nombre]) => [
    lineOf(ruc, nombre, estado),
    lineOf(bravo, 'SEGUNDA EMPRESA DEL ÑANDÚ E.I.R.L.', 'ACTIVO'),
    lineOf(person, 'PERSONA NATURAL PLANTADA', 'ACTIVO'),
  ]);
  const ids: number[] = [];
  for (const [index, day] of days.entries()) {
    ids.push(await addPublication(pool, archive, folder, day, lines[index]!, index === 3));
  }
  const at = (index: number) => new Date(`${days[index]}T08:00:00Z`);
  const changed = (edition: number, before: number, after: number) =>
    change(edition, acme, at(edition - 1), {
      before: row({ nombre: states[before]![2], estado: states[before]![1] }),
      after: row({ nombre: states[after]![2], estado: states[after]![1] }),
    });
  const hidden = change(2, person, at(1), {
    after: row({ nombre: 'PERSONA NATURAL PLANTADA', estado: 'BAJA DE OFICIO' }),
  });
  const added = change(2, charlie, at(1), { op: 'c', before: null, after: row({ nombre: 'TERCERA S.A.C.' }) });
  const files: Change[][] = [
    [change(1, acme, at(0), { op: 'r', before: null, after: row({ estado: 'ACTIVO' }) })],
    [hidden, changed(2, 0, 1), added],
    [changed(3, 1, 2)],
    [changed(4, 2, 3)],
  ];
  for (const [index, changes] of files.entries()) {
    const { path, sha256 } = writeChanges(folder, register, index + 1, changes);
    await archive.put({ register, kind: 'changes', sha256 }, path);
    if (index < 3) await addEdition(pool, { number: index + 1, publication: ids[index]!, day: days[index]!, sha256 });
    else await compare(pool, ids[index]!, sha256);
  }
  await pool.query(
    `UPDATE register_head SET edition = 3, fecha_dato = '2026-11-26', published_at = '2026-11-26T08:00:00Z',
       probed_at = now() WHERE register = $1`,
    [register],
  );
  const kept = new PublishedLines({ pool, archive, workDir: folder, log: pino({ level: 'silent' }) });
  return {
    ...{ folder, archive, lines: kept, quarantined: ids[3]!, customer, webhook },
    async close() {
      await kept.stop();
      rmSync(folder, { recursive: true });
    },
  };
}

function lineOf(ruc: string, nombre: string, estado: string): string {
  const cells = [ruc, nombre, estado, 'HABIDO', '150101', ...Array.from({ length: 10 }, () => '-')];
  return `${cells.join('|')}|`;
}

async function addPublication(
  pool: Pool,
  archive: FolderArchive,
  folder: string,
  day: string,
  lines: readonly string[],
  isHeld: boolean,
): Promise<number> {
  const path = join(folder, `${day}.zip`);
  const text = Buffer.from(encodeWindows1252(`${[header, ...lines].join('\n')}\n`));
  await writeZip(path, [{ name: entryName, content: text }], 6);
  const sha256 = await sha256OfFile(path);
  await archive.put({ register, kind: 'publications', sha256 }, path);
  const share = isHeld ? 0.2 : 0.001;
  const gates = [
    { gate: 'header', value: 'known', limit: 'known', passed: true, text: 'the header is the known one' },
    { gate: 'changed.company', value: share, limit: 0.01, passed: !isHeld, text: 'many rows changed' },
    { gate: 'rows', value: 1, limit: 0.98, passed: true, text: 'all rows are there' },
    { gate: 'notices', value: 3, limit: 100, passed: true, text: 'it would make 3 notices' },
  ];
  const { rows } = await pool.query<{ id: number }>(
    `INSERT INTO publication (register, sha256, fecha_dato, published_at, state, state_reason, rows, rejected, duplicates,
       gates, detected_at, bytes, url)
     VALUES ($1, $2, $3::date, $3::date, $4, $5, 3, 0, 0, $6, $3::date, 1234, 'https://example.com/padron.zip')
     RETURNING id`,
    [
      register,
      sha256,
      day,
      isHeld ? 'en_cuarentena' : 'publicada',
      isHeld ? 'gates: many rows changed' : null,
      JSON.stringify(gates),
    ],
  );
  return rows[0]!.id;
}

const counts = {
  ...{ lines: 3, rows: 3, stateRows: 3, rejected: 0, rejectedByReason: {}, duplicates: 0, emptyNames: 0 },
  ...{ inserted: 1, updated: 2, deleted: 0, baseline: 0, kept: 0, keptCells: 0, unchanged: 1 },
  ...{ changedByColumn: { estado: 2 }, emptyByColumn: {}, rowsByKind: { company: 2, other: 1 } },
  changedByKind: {
    company: { rows: 2, baseline: 0, inserted: 1, updated: 1, deleted: 0, changedByColumn: { estado: 1 } },
    other: { rows: 1, baseline: 0, inserted: 0, updated: 1, deleted: 0, changedByColumn: { estado: 1 } },
  },
};

interface SceneEdition {
  number: number;
  publication: number;
  day: string;
  sha256: string;
}

async function addEdition(pool: Pool, { number, publication, day, sha256 }: SceneEdition): Promise<void> {
  const columns = padronReducido.columns.map(({ name }) => name);
  await pool.query(
    `INSERT INTO edition (register, number, publication_id, fecha_dato, published_at, detected_at, change_file_sha256,
       parser_version, columns, changes, counts, publicada_at, materializada_at, avisada_at)
     VALUES ($1, $2, $3, $4::date, $4::date, $4::date, $5, 1, $6, 3, $7, now(), $4::date + interval '5 minutes', now())`,
    [
      register,
      number,
      publication,
      day,
      sha256,
      columns,
      JSON.stringify({ ...counts, baseline: number === 1 ? 1 : 0 }),
    ],
  );
}

async function compare(pool: Pool, id: number, sha256: string): Promise<void> {
  const columns = padronReducido.columns.map(({ name }) => name);
  const result = {
    ...{ baseEdition: 3, edition: 4, detectedAt: Date.parse('2026-11-27T08:00:00Z'), changeFileSha256: sha256 },
    ...{ overlaySha256: null, rejectsSha256: null, parserVersion: 1, columns, counts },
  };
  await pool.query('UPDATE publication SET compare_result = $2 WHERE id = $1', [id, JSON.stringify(result)]);
}
