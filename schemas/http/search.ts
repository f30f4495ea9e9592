import { z } from 'zod';
import { significantCharacters } from '../names.ts';
import { answerOf, day, limitParameter, rucText } from './envelope.ts';

const minQueryCharacters = 3;
const maxQueryCharacters = 100;
/** Signs and spaces do not count, but nobody needs kilobytes of them. */
const maxQueryLength = 400;

const queryText = z
  .string()
  .max(maxQueryLength)
  // Stands for bytes that are no UTF-8: searched as a sign it would give an empty page, which is a claim.
  .refine((text) => !text.includes('\uFFFD'), 'no está en UTF-8, donde ñ es %C3%B1')
  .refine((text) => {
    const count = significantCharacters(text);
    return count >= minQueryCharacters && count <= maxQueryCharacters;
  }, `debe tener de ${minQueryCharacters} a ${maxQueryCharacters} letras o dígitos`);

/** Open texts in the registers, so any text is allowed that could be one. */
const statusText = z
  .string()
  .regex(/^[\p{L}0-9 .,/-]{1,60}$/u, 'debe ser un texto del padrón, como ACTIVO o NO HABIDO');

export const searchQuery = z.strictObject({
  q: queryText,
  limite: limitParameter(50, 20),
  cursor: z.string().optional(),
  /** As look-ups show it, with or without accents. */
  estado: statusText.optional(),
  condicion: statusText.optional(),
  /** A district, or the first two or four digits for its department or province. */
  ubigeo: z
    .string()
    .regex(/^(?:[0-9]{2}){1,3}$/, 'debe ser un ubigeo de 2, 4 o 6 dígitos')
    .optional(),
});
export type SearchQuery = z.infer<typeof searchQuery>;

/** How a hit was found, best first. */
export const matches = ['exacta', 'exacta_sin_forma', 'prefijo', 'palabras', 'aproximada'] as const;
export type Match = (typeof matches)[number];

const text = z.string().nullable();

const searchHit = z.strictObject({
  ruc: rucText,
  nombre: z.string(),
  estado: z.string(),
  condicion: z.string(),
  /** The daily register's. */
  ubigeo: text,
  departamento: text,
  provincia: text,
  distrito: text,
  coincidencia: z.enum(matches),
  /** Never rises from one hit to the next. */
  puntaje: z.int().min(0).max(100),
});
export type SearchHit = z.infer<typeof searchHit>;

const searchMeta = z.strictObject({
  origen: z.string(),
  fecha_dato: day,
  /** null on the last page. */
  cursor: z.string().nullable(),
  /** The cursor is of an earlier edition: companies may have moved in the order meanwhile. */
  edicion_cambiada: z.boolean(),
});
export type SearchMeta = z.infer<typeof searchMeta>;

export const searchAnswer = answerOf(z.array(searchHit), searchMeta);
