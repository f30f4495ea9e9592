import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3';
import { waitUntil } from '../../../deploy/local/demo/output.ts';
import { freePort } from '../process/free-port.ts';
import { rcloneExecutable } from './programs.ts';

/** A real S3 server over a temporary folder. Its credentials are set in the environment, as in production. */
export interface ObjectStore {
  endpoint: string;
  /** Creates a bucket and returns an ARCHIVE_URL in it. */
  archiveUrl(bucket: string, prefix: string): Promise<string>;
  stop(): Promise<void>;
}

const [accessKey, secretKey] = ['padron-tests', 'not-a-secret-outside-tests'];

export async function startObjectStore(): Promise<ObjectStore> {
  const folder = mkdtempSync(path.join(tmpdir(), 'padron-object-store-'));
  const address = `127.0.0.1:${await freePort()}`;
  const endpoint = `http://${address}`;
  const child = spawn(await rcloneExecutable(), ['serve', 's3', folder, '--addr', address, '--no-cleanup'], {
    stdio: 'ignore',
    env: {
      HOME: folder,
      RCLONE_CONFIG: path.join(folder, 'none.conf'),
      RCLONE_AUTH_KEY: `"${accessKey},${secretKey}"`,
    },
  });
  const { AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY } = process.env;
  setEnvironment({ AWS_ACCESS_KEY_ID: accessKey, AWS_SECRET_ACCESS_KEY: secretKey });
  const client = new S3Client({ region: 'us-east-1', endpoint, forcePathStyle: true });
  const isUp = await waitUntil(async () => (await fetch(endpoint).catch(() => null)) !== null, 20_000);
  if (!isUp) throw new Error('the S3 server does not answer');
  return {
    endpoint,
    async archiveUrl(bucket, prefix) {
      await client.send(new CreateBucketCommand({ Bucket: bucket }));
      return `s3://${bucket}/${prefix}?region=us-east-1&path_style=1&endpoint=${encodeURIComponent(endpoint)}`;
    },
    async stop() {
      client.destroy();
      setEnvironment({ AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY });
      await ended(child);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function setEnvironment(values: Record<string, string | undefined>): void {
  for (const [name, value] of Object.entries(values)) {
    if (value === undefined) delete process.env[name];
    else process.env[name] = value;
  }
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const end = new Promise((resolve) => child.once('close', resolve));
  child.kill('SIGKILL');
  await end;
}
