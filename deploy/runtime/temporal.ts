import { Client, Connection } from '@temporalio/client';

/** A Temporal client. Fails within the deadline when the server does not answer, instead of waiting for ever. */
export async function makeTemporal(address: string, namespace: string, connectTimeoutMs = 10_000): Promise<Client> {
  const connection = await Connection.connect({ address, connectTimeout: connectTimeoutMs });
  return new Client({ connection, namespace });
}
