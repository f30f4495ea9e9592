import { Client, Connection } from '@temporalio/client';

/** A Temporal client. Fails within the deadline when the server does not answer, instead of waiting for ever. */
export async function makeTemporal(address: string, namespace: string): Promise<Client> {
  const connection = await Connection.connect({ address, connectTimeout: 10_000 });
  return new Client({ connection, namespace });
}

/** For a process that only now and then tells Temporal something: connects at the first call, so it starts without it. */
export function makeLazyTemporal(address: string, namespace: string): Client {
  return new Client({ connection: Connection.lazy({ address, connectTimeout: 5_000 }), namespace });
}
