import { z } from 'zod';

/** One ClickHouse server that holds a copy of the registers. */
export interface ReplicaAddress {
  name: string;
  /** Address of the HTTP interface with the database as path. It may hold user and password. */
  url: string;
}

/** The name of the only server of an installation without CLICKHOUSE_REPLICAS. */
export const defaultReplica = 'default';

const replicaName = z.string().regex(/^[a-z0-9][a-z0-9_-]{0,29}$/, 'a name of a-z, 0-9, - and _, of at most 30');
const replicaList = z.string().transform((text, context): ReplicaAddress[] => {
  const replicas = splitReplicas(text);
  const isName = ({ name }: ReplicaAddress) => replicaName.safeParse(name).success;
  const isUrl = ({ url }: ReplicaAddress) => z.url({ protocol: /^https?$/ }).safeParse(url).success;
  const names = new Set(replicas.map(({ name }) => name));
  if (replicas.every(isName) && replicas.every(isUrl) && names.size === replicas.length) return replicas;
  context.addIssue({ code: 'custom', message: 'name=url, separated by commas, each name once' });
  return z.NEVER;
});

export const replicaFields = {
  /**
   * Several servers, each with a copy of its own: `name=url,name=url`. The server that was the only one before is named
   * `default`, so that it goes on with the consumer group that it had (pipelines/replicas/README.md).
   */
  CLICKHOUSE_REPLICAS: replicaList.optional(),
  /** The replica that this consumers process feeds. Other processes ignore it. */
  CLICKHOUSE_REPLICA: replicaName.optional(),
};

/**
 * With CLICKHOUSE_REPLICAS, CLICKHOUSE_URL becomes the address of the replica that CLICKHOUSE_REPLICA names, or of the
 * first one. So code that works with one server takes that one.
 */
export function withReplicaAddress(present: Record<string, string | undefined>): Record<string, string | undefined> {
  const { CLICKHOUSE_REPLICAS: list, CLICKHOUSE_REPLICA: wanted } = present;
  if (list === undefined) return present;
  const replicas = splitReplicas(list);
  const own = replicas.find(({ name }) => name === wanted) ?? replicas[0]!;
  return { ...present, CLICKHOUSE_URL: own.url };
}

function splitReplicas(text: string): ReplicaAddress[] {
  return text.split(/,(?=[^,=]*=)/).map((part) => {
    const at = part.indexOf('=');
    return { name: part.slice(0, Math.max(0, at)).trim(), url: part.slice(at + 1).trim() };
  });
}
