import { z } from 'zod';

/** What every answer of the public API shares. Objects are strict: a field that no schema names is a defect. */

/** `{"success": true, "data": …, "meta": {…}}` */
export function answerOf<Data extends z.ZodType, Meta extends z.ZodType>(data: Data, meta: Meta) {
  return z.strictObject({ success: z.literal(true), data, meta });
}

/** YYYY-MM-DD, a day that exists. */
export const day = z.iso.date();
/** A time with its offset, in years that every engine reads alike. */
export const instant = z.iso
  .datetime({ offset: true, error: 'debe ser una hora ISO 8601 con su desfase' })
  .refine((text) => text >= '1900' && text < '9999-12-31', 'debe ser una hora de los años 1900 a 9999');
/** What a filter by time takes: a day in Lima, meant whole, or a time. */
export const moment = z.union(
  [day.refine((text) => text >= '1900'), instant],
  'debe ser una fecha AAAA-MM-DD o una hora ISO 8601 con su desfase',
);
/** ISO 8601 with the offset of Lima. */
export const limaTimestamp = z.string().regex(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}-05:00$/);

/** Text of the caller's own that is kept; PostgreSQL keeps no null character. */
export function keptText(most: number) {
  return z
    .string()
    .trim()
    .max(most, `admite hasta ${most} caracteres`)
    .regex(/^[^\0]*$/, 'no admite el carácter nulo');
}

export const rucText = z.string().regex(/^[0-9]{11}$/);

/** Every meta states the date of the data; null until the daily register's first edition is loaded. */
export const registerMeta = z.strictObject({ fecha_dato: day.nullable() });
export const pageMeta = registerMeta.extend({ cursor: z.string().nullable() });

/** How many entries a page holds; a query parameter, so text. */
export function limitParameter(most: number, preset: number) {
  return z
    .string()
    .regex(/^[0-9]{1,4}$/, `debe ser un número entero de 1 a ${most}`)
    .transform(Number)
    .refine((value) => value >= 1 && value <= most, `debe ser un número entero de 1 a ${most}`)
    .default(preset)
    .meta({ type: 'integer', minimum: 1, maximum: most, default: preset });
}

export const noParameters = z.strictObject({});
