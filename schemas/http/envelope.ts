import { z } from 'zod';

/** What every answer of the public API shares. Objects are strict: a field that no schema names is a defect. */

/** `{"success": true, "data": …, "meta": {…}}` */
export function answerOf<Data extends z.ZodType, Meta extends z.ZodType>(data: Data, meta: Meta) {
  return z.strictObject({ success: z.literal(true), data, meta });
}

/** YYYY-MM-DD, a day that exists. */
export const day = z.iso.date();
/** ISO 8601 with the offset of Lima. */
export const limaTimestamp = z.string().regex(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}-05:00$/);

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
