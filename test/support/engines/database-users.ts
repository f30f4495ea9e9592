import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import pg from 'pg';

const grants = new URL('../../../deploy/postgres/running-user.sql', import.meta.url);

export type DatabaseUsers = {
  /** The running user, who owns nothing. */
  DATABASE_URL: string;
  /** The owner, who is no superuser. */
  MIGRATION_DATABASE_URL: string;
};

/** Gives an empty database an owner and a running user, as an operator does. @param databaseUrl as superuser */
export async function makeUsers(databaseUrl: string): Promise<DatabaseUsers> {
  const suffix = randomBytes(4).toString('hex');
  const as = (user: string) => Object.assign(new URL(databaseUrl), { username: user, password: 'secret' }).href;
  const [owner, running] = [`owner_${suffix}`, `app_${suffix}`];
  const database = new URL(databaseUrl).pathname.slice(1);
  await runAll(databaseUrl, [
    `CREATE ROLE ${owner} LOGIN PASSWORD 'secret'`,
    `CREATE ROLE ${running} LOGIN PASSWORD 'secret'`,
    `ALTER DATABASE ${database} OWNER TO ${owner}`,
  ]);
  await runAll(as(owner), [readFileSync(grants, 'utf8').replaceAll('padron_app', running)]);
  return { DATABASE_URL: as(running), MIGRATION_DATABASE_URL: as(owner) };
}

async function runAll(url: string, statements: readonly string[]): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    for (const statement of statements) await client.query(statement);
  } finally {
    await client.end();
  }
}
