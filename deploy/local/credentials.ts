import { randomBytes } from 'node:crypto';
import path from 'node:path';
import { z } from 'zod';
import { readJsonFile, writeJsonFile } from './files.ts';

const credentialsSchema = z.object({
  postgresPassword: z.string().min(1),
  clickhousePassword: z.string().min(1),
  /** 32 bytes in base64: what the product encrypts webhooks' secrets with. */
  encryptionKey: z.string().min(1),
});

/** Made at the first start of a folder and kept with its data: PostgreSQL and the encrypted rows know them. */
export type Credentials = z.infer<typeof credentialsSchema>;

export function readOrMakeCredentials(directory: string): Credentials {
  const file = path.join(directory, 'credentials.json');
  const kept = readJsonFile(file, credentialsSchema);
  if (kept) return kept;
  const made: Credentials = {
    postgresPassword: randomBytes(18).toString('hex'),
    clickhousePassword: randomBytes(18).toString('hex'),
    encryptionKey: randomBytes(32).toString('base64'),
  };
  writeJsonFile(file, made, 0o600);
  return made;
}
