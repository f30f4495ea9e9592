import { z } from 'zod';
import { answerOf, keptText, limaTimestamp, pageMeta, pageQuery, registerMeta, rucText } from './envelope.ts';
import type { Operations } from './operation.ts';

const nombre = keptText(200).min(1, 'no puede estar vacío');
const referencia = keptText(200).nullable();

export const newList = z.strictObject({ nombre, referencia: referencia.optional() });
const listPatch = z
  .strictObject({ nombre: nombre.optional(), referencia: referencia.optional() })
  .refine((patch) => Object.keys(patch).length > 0, 'no trae ningún campo que cambiar');

const list = z.strictObject({
  id: z.int(),
  nombre: z.string(),
  referencia: z.string().nullable(),
  /** The number of RUCs in the list. */
  rucs: z.int().min(0),
  creada_en: limaTimestamp,
});
export const listAnswer = answerOf(list, registerMeta);
export const listsAnswer = answerOf(z.array(list), pageMeta);

const maxNewMembers = 1_000;

/** One RUC, or up to 1,000 RUCs. A wrong RUC in `rucs` causes no error: the answer lists it in `rechazados`. */
const newMembers = z.union([
  z.strictObject({ ruc: z.string() }),
  z.strictObject({ rucs: z.array(z.string()).min(1, 'no trae ningún RUC').meta({ maxItems: maxNewMembers }) }),
]);
const membersAdded = z.strictObject({
  /**
   * `en_padron`: whether the daily register has the RUC; null if the register is not loaded yet or ClickHouse did not
   * answer.
   */
  agregados: z.array(z.strictObject({ ruc: rucText, en_padron: z.boolean().nullable() })),
  ya_estaban: z.array(rucText),
  /** In `ruc`, every run of eight or more digits is masked, except a company's RUC. */
  rechazados: z.array(z.strictObject({ ruc: z.string(), codigo: z.string() })),
});
export type AddedMembers = z.infer<typeof membersAdded>;
export const membersAddedAnswer = answerOf(membersAdded, registerMeta);

const member = z.strictObject({
  ruc: rucText,
  agregado_en: limaTimestamp,
  /** `estado` and `condicion` are null if the daily register does not have the RUC, or carries no value. */
  estado: z.string().nullable(),
  condicion: z.string().nullable(),
});
export type ShownMember = z.infer<typeof member>;
export const membersAnswer = answerOf(z.array(member), pageMeta);

export const listOperations = {
  crearLista: {
    summary: 'Crea una lista de RUC vigilados',
    description: 'El nombre es único en la cuenta; hasta 1,000 listas. `referencia` es suya: vuelve en cada aviso.',
    body: newList,
    status: 201,
    answer: listAnswer,
    problems: ['nombre_en_uso', 'limite_excedido'],
  },
  verListas: {
    summary: 'Las listas de la cuenta',
    query: pageQuery(500, 100),
    answer: listsAnswer,
  },
  verLista: {
    summary: 'Una lista',
    answer: listAnswer,
  },
  cambiarLista: {
    summary: 'Cambia el nombre o la referencia de una lista',
    body: listPatch,
    answer: listAnswer,
    problems: ['nombre_en_uso'],
  },
  agregarRucs: {
    summary: 'Agrega uno o hasta 1,000 RUC a una lista',
    description:
      'Solo empresas. Un RUC válido que todavía no figura en el padrón se admite: para eso existe `ruc.alta`. Hasta 100,000 RUC distintos por cuenta.',
    body: newMembers,
    listLimits: { rucs: maxNewMembers },
    answer: membersAddedAnswer,
    problems: ['ruc_formato', 'ruc_digito_verificador', 'solo_empresas', 'limite_excedido'],
  },
  verRucs: {
    summary: 'Los RUC de una lista, con su estado de hoy',
    query: pageQuery(500, 100),
    answer: membersAnswer,
  },
  quitarRuc: {
    summary: 'Quita un RUC de una lista',
    description: 'También 204 si no estaba.',
    problems: ['ruc_formato', 'ruc_digito_verificador', 'solo_empresas'],
  },
  borrarLista: {
    summary: 'Borra una lista',
  },
} as const satisfies Operations;
