import { Registry } from 'prom-client';
import type { Change } from '../../../pipelines/changes/record.ts';
import { makeMaterializeHandler } from '../../../pipelines/consumers/materialize.ts';
import type { ClickHouseClient } from '../../../pipelines/runtime/clickhouse.ts';
import { padronReducido } from '../../../schemas/registers.ts';
import { checkDigit } from '../../../schemas/ruc.ts';
import { encodeChange } from './change-records.ts';

export interface TestCompany {
  ruc: string;
  nombre: string;
  estado?: string;
  condicion?: string;
  ubigeo?: string;
}

/** A valid RUC that no real taxpayer has. The default prefix is that of companies. */
export function rucOf(number: number, prefix = '20'): string {
  const firstTen = `${prefix}99${String(number).padStart(6, '0')}`;
  return `${firstTen}${checkDigit(firstTen)}`;
}

function rowOf({ nombre, estado = 'ACTIVO', condicion = 'HABIDO', ubigeo = '150101' }: TestCompany) {
  const given: Record<string, string> = { nombre, estado, condicion, ubigeo };
  return Object.fromEntries(padronReducido.columns.map(({ name }) => [name, given[name] ?? '-']));
}

/** A change of the daily register. A company without `before` is new, one without `after` is gone. */
export function changeOf(edition: number, before: TestCompany | null, after: TestCompany | null): Change {
  const op = before === null ? (edition === 1 ? 'r' : 'c') : after === null ? 'd' : 'u';
  return {
    edition,
    op,
    seq: 0,
    ruc: (after ?? before)!.ruc,
    before: before === null ? null : rowOf(before),
    after: after === null ? null : rowOf(after),
    line: null,
    detectedAt: new Date('2026-11-26T10:00:00Z'),
    corrects: null,
  };
}

/** Writes changes of the daily register to ClickHouse as the consumer does. */
export async function materialize(clickhouse: ClickHouseClient, changes: readonly Change[]): Promise<void> {
  const messages = changes.map((change, index) => ({
    offset: String(index),
    value: encodeChange(change, 1, 'padron_reducido'),
  }));
  const handle = makeMaterializeHandler(clickhouse, new Registry());
  await handle({
    register: 'padron_reducido',
    topic: 'register.padron_reducido.changes',
    partition: 0,
    firstOffset: '0',
    lastOffset: String(changes.length - 1),
    messages,
    heartbeat: async () => {},
    isStale: () => false,
  });
}
