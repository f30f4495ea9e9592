import { z } from 'zod';
import { significantCharacters } from '../names/fold.ts';
import { answerOf, day, limitParameter, rucText } from './envelope.ts';
import type { Operations } from './operation.ts';

const minQueryCharacters = 3;
const maxQueryCharacters = 100;
/** Limit on the length of the whole text. Signs and spaces count here, but not towards the 100 characters. */
const maxQueryLength = 400;

/**
 * Whether a text was percent-encoded in UTF-8. U+FFFD stands for bytes that are not UTF-8 and for a `%` that begins no
 * byte, and `%u00F1` is what JavaScript's escape() writes for ñ. A search for such a text would find nothing and claim
 * wrongly that no company matches.
 */
function isDecoded(text: string): boolean {
  return !/\uFFFD|%u[0-9A-F]{4}/i.test(text);
}
const notDecoded = 'no está en UTF-8, donde ñ es %C3%B1';

const queryText = z
  .string()
  .max(maxQueryLength)
  .refine(isDecoded, { error: notDecoded, abort: true })
  .refine((text) => {
    const count = significantCharacters(text);
    return count >= minQueryCharacters && count <= maxQueryCharacters;
  }, `debe tener de ${minQueryCharacters} a ${maxQueryCharacters} letras o dígitos`);

const statusPattern = /^[\p{L}0-9 .,/-]{1,60}$/u;
/**
 * A text of `estado` or `condicion`. Unknown texts are allowed, because the registers may introduce new statuses. The
 * document shows only the lengths, because not every language reads the pattern's `\p{L}`.
 */
const statusText = z
  .string()
  .refine((text) => statusPattern.test(text), 'debe ser un texto del padrón, como ACTIVO o NO HABIDO')
  .meta({ minLength: 1, maxLength: 60 });

export const searchQuery = z.strictObject({
  q: queryText,
  limite: limitParameter(50, 20),
  cursor: z.string().optional(),
  /** The status as look-ups show it, with or without accents. */
  estado: statusText.optional(),
  condicion: statusText.optional(),
  /** All six digits for a district, the first four for a province, or the first two for a department. */
  ubigeo: z
    .string()
    .regex(/^(?:[0-9]{2}){1,3}$/, 'debe ser un ubigeo de 2, 4 o 6 dígitos')
    .optional(),
});
export type SearchQuery = z.infer<typeof searchQuery>;

/** The ways in which a company's name can match, best first. */
export const matches = ['exacta', 'exacta_sin_forma', 'prefijo', 'palabras', 'aproximada'] as const;
export type Match = (typeof matches)[number];

const text = z.string().nullable();

const searchHit = z.strictObject({
  ruc: rucText,
  nombre: z.string(),
  estado: text,
  condicion: text,
  /** The code that the look-up shows: the daily register's, else the monthly register's. */
  ubigeo: text,
  departamento: text,
  provincia: text,
  distrito: text,
  coincidencia: z.enum(matches),
  /** The score of the match. It never increases from one hit to the next. */
  puntaje: z.int().min(0).max(100),
});
export type SearchHit = z.infer<typeof searchHit>;

const searchMeta = z.strictObject({
  origen: z.string(),
  fecha_dato: day,
  /** The cursor for the next page; null on the last page. */
  cursor: z.string().nullable(),
  /** True when the cursor was made with an earlier edition. The order of the hits may have changed since then. */
  edicion_cambiada: z.boolean(),
});

export const searchAnswer = answerOf(z.array(searchHit), searchMeta);

export const searchOperations = {
  buscarEmpresas: {
    summary: 'Busca empresas por su razón social',
    description:
      'Solo empresas (RUC 20). No distingue acentos, signos, iniciales con puntos o espacios, conectores (de, la, y), abreviaturas (INV, MUN, CIA) ni la forma societaria; tolera errores de tipeo cuando lo demás no llena la página, y una palabra equivocada cuando nada coincide (`aproximada`). Un RUC, escrito como sea (`R.U.C. N° 20131312955`), encuentra a su empresa. Hasta 1,000 resultados por consulta. Los parámetros `estado`, `condicion` y `ubigeo` filtran.',
    query: searchQuery,
    answer: searchAnswer,
  },
} as const satisfies Operations;
