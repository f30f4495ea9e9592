import { createHash } from 'node:crypto';
import { z } from 'zod';
import { registerNames, registers } from '../../schemas/registers.ts';

/** Raise this number when the same edition gives other bytes: other fields, words, or another order of them. */
export const layoutVersion = 1;

/** One file that is made from an edition's change file. The same values give the same bytes in every process. */
export const deltaSchema = z.object({
  register: z.enum(registerNames),
  edition: z.number().int().positive(),
  /** Hash of the change file. */
  sha256: z.string(),
  /** Number of changes in the change file, according to the catalogue. */
  changes: z.number().int().nonnegative(),
  /** Date of the edition's data, YYYY-MM-DD. */
  fechaDato: z.string(),
  form: z.enum(['ndjson', 'parquet']),
  /** `companies` leaves out every row whose key is no company's RUC. */
  audience: z.enum(['companies', 'everybody']),
});
export type Delta = z.infer<typeof deltaSchema>;

/** A job of the program in main.ts. */
export const deltaJobSchema = z.object({ delta: deltaSchema, archiveUrl: z.string(), workDir: z.string() });
export type DeltaJob = z.infer<typeof deltaJobSchema>;

/** The program's answer to a job. */
export const deltaAnswerSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('done'), rows: z.number() }),
  z.object({ kind: z.literal('failed'), code: z.string(), message: z.string() }),
]);

/**
 * Identifies the bytes of a delta file: other bytes have another tag. Without the columns, a release that adds one
 * would give its Parquet files the tags of the last release's.
 */
export function tagOf({ register, edition, sha256, fechaDato, form, audience }: Delta): string {
  const columns = registers[register].columns.map(({ name }) => name);
  const parts = [layoutVersion, register, edition, sha256, fechaDato, form, audience, columns];
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 32);
}

/** Folder in WORK_DIR. Every file in it can be made again. */
export const deltaFolder = 'deltas';

/** Name of the file in `deltaFolder`. */
export function fileKeyOf(delta: Delta): string {
  return `${delta.register}/${tagOf(delta)}.${delta.form}`;
}

/** Limits of `deltaFolder`. A file that a download has open stays readable after its removal. */
export const deltaFileLimits = { maxBytes: 12 * 2 ** 30, minAgeMs: 60_000 } as const;
