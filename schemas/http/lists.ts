import { z } from 'zod';
import { answerOf, keptText, limaTimestamp, limitParameter, pageMeta, registerMeta, rucText } from './envelope.ts';

const nombre = keptText(200).min(1, 'no puede estar vacío');
const referencia = keptText(200).nullable();

export const newList = z.strictObject({ nombre, referencia: referencia.optional() });
export const listPatch = z
  .strictObject({ nombre: nombre.optional(), referencia: referencia.optional() })
  .refine((patch) => Object.keys(patch).length > 0, 'no trae ningún campo que cambiar');

const list = z.strictObject({
  id: z.int(),
  nombre: z.string(),
  referencia: z.string().nullable(),
  /** How many RUC it holds. */
  rucs: z.int().min(0),
  creada_en: limaTimestamp,
});
export const listAnswer = answerOf(list, registerMeta);
export const listsQuery = z.strictObject({ limite: limitParameter(500, 100), cursor: z.string().optional() });
export const listsAnswer = answerOf(z.array(list), pageMeta);

/** One RUC or up to 1,000. Their form is judged one by one by the rules of the RUC, not here. */
export const newMembers = z.union([
  z.strictObject({ ruc: z.string() }),
  z.strictObject({ rucs: z.array(z.string()).min(1, 'no trae ningún RUC').max(1_000, 'admite hasta 1,000 RUC') }),
]);
const membersAdded = z.strictObject({
  /** en_padron: whether the daily register holds it; null where it could not be asked. */
  agregados: z.array(z.strictObject({ ruc: rucText, en_padron: z.boolean().nullable() })),
  ya_estaban: z.array(rucText),
  /** Natural persons' RUC come back masked. */
  rechazados: z.array(z.strictObject({ ruc: z.string(), codigo: z.string() })),
});
export const membersAddedAnswer = answerOf(membersAdded, registerMeta);

export const membersQuery = z.strictObject({ limite: limitParameter(500, 100), cursor: z.string().optional() });
const member = z.strictObject({
  ruc: rucText,
  agregado_en: limaTimestamp,
  /** null: the register does not hold the RUC. */
  estado: z.string().nullable(),
  condicion: z.string().nullable(),
});
export const membersAnswer = answerOf(z.array(member), pageMeta);
