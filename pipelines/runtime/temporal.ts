import { Client, Connection } from '@temporalio/client';

/** Connects to Temporal. Rejects after 10 s when the server does not answer. */
export async function makeTemporal(address: string, namespace: string): Promise<Client> {
  const connection = await Connection.connect({ address, connectTimeout: 10_000 });
  return new Client({ connection, namespace });
}

/** Makes a client that connects at its first call, so that a process that rarely uses Temporal starts without it. */
export function makeLazyTemporal(address: string, namespace: string): Client {
  return new Client({ connection: Connection.lazy({ address, connectTimeout: 5_000 }), namespace });
}
