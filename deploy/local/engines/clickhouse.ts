import path from 'node:path';
import { threadPoolSize } from '../clickhouse/limits.ts';
import { repositoryRoot } from '../config.ts';
import { answersOk, type Engine, engineFolder, plainEnvironment } from './context.ts';

const user = 'padron';
const database = 'padron';

/** chDB (ClickHouse as a library) in a small process of ours that serves ClickHouse's HTTP interface. */
export const clickhouse: Engine = {
  name: 'clickhouse',
  after: [],
  addressNames: ['CLICKHOUSE_URL'],
  endpoints: ({ ports, credentials }) => ({
    CLICKHOUSE_URL: `http://${user}:${credentials.clickhousePassword}@127.0.0.1:${ports.clickhouse}/${database}`,
  }),
  async prepare(context) {
    const port = String(context.ports.clickhouse);
    const program = path.join(repositoryRoot, 'deploy', 'local', 'clickhouse', 'main.ts');
    const login = ['--user', user, '--password', context.credentials.clickhousePassword, '--database', database];
    return {
      name: 'clickhouse',
      command: process.execPath,
      args: ['--import', 'tsx', program, '--data', engineFolder(context, 'clickhouse'), '--port', port, ...login],
      // The process cannot set UV_THREADPOOL_SIZE itself: libuv reads it when its first thread starts, before main.ts
      // could set it. main.ts refuses to run without this value.
      environment: { ...plainEnvironment(context.programs.searchPath), UV_THREADPOOL_SIZE: String(threadPoolSize) },
      workingDirectory: repositoryRoot,
      stopSignal: 'SIGTERM',
      isReady: () => answersOk(`http://127.0.0.1:${port}/ping`),
    };
  },
};
