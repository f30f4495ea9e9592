import { z } from 'zod';

// Parts that the HTTP schemas share. Objects are strict, so a test fails when an answer has a field that no schema
// names.

/** The schema of an answer: `{"success": true, "data": …, "meta": {…}}`. */
export function answerOf<Data extends z.ZodType, Meta extends z.ZodType>(data: Data, meta: Meta) {
  return z.strictObject({ success: z.literal(true), data, meta });
}

/** A day that exists, as YYYY-MM-DD. */
export const day = z.iso.date();
/**
 * A time with its UTC offset. Times before 1900, and from 9999-12-31 on, are refused, because PostgreSQL and JavaScript
 * read such years differently.
 */
export const instant = z.iso
  .datetime({ offset: true, error: 'debe ser una hora ISO 8601 con su desfase' })
  .refine((text) => text >= '1900' && text < '9999-12-31', 'debe ser una hora de los años 1900 a 9999');
/** The value of a filter by time: a whole day in Lima, or an instant. */
export const moment = z.union(
  [day.refine((text) => text >= '1900'), instant],
  'debe ser una fecha AAAA-MM-DD o una hora ISO 8601 con su desfase',
);
/** A time in ISO 8601 with Lima's offset, −05:00. */
export const limaTimestamp = z.string().regex(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}-05:00$/);

/** A text that the caller sends and the service stores. PostgreSQL cannot store a null character, so it is refused. */
export function keptText(most: number) {
  return z
    .string()
    .trim()
    .max(most, `admite hasta ${most} caracteres`)
    .refine((text) => !text.includes('\0'), 'no admite el carácter nulo');
}

export const rucText = z.string().regex(/^[0-9]{11}$/);

/** `fecha_dato` is the date of the daily register's data. It is null until that register is first loaded. */
export const registerMeta = z.strictObject({ fecha_dato: day.nullable() });
export const pageMeta = registerMeta.extend({ cursor: z.string().nullable() });

/** The query parameter for the number of entries on a page. It arrives as text and is read as a number. */
export function limitParameter(most: number, preset: number) {
  return z
    .string()
    .regex(/^[0-9]{1,4}$/, `debe ser un número entero de 1 a ${most}`)
    .transform(Number)
    .refine((value) => value >= 1 && value <= most, `debe ser un número entero de 1 a ${most}`)
    .default(preset)
    .meta({ type: 'integer', minimum: 1, maximum: most, default: preset });
}

/** From the year `desde` to the year `hasta`, both included. */
export const yearRange = z.strictObject({ desde: z.int(), hasta: z.int() });

/** The query parameters of a list that has no filters. */
export function pageQuery(most: number, preset: number) {
  return z.strictObject({ limite: limitParameter(most, preset), cursor: z.string().optional() });
}

export const noParameters = z.strictObject({});
