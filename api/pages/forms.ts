import { bodyParser } from '@koa/bodyparser';
import type { z } from 'zod';
import { ApiProblem } from '../problems.ts';
import { type ApiContext, parseInput } from '../request.ts';
import type { FieldErrors, Filled } from './page.ts';
import { nameField, tokenField } from './sessions/form-tokens.ts';

// What people fill in: read, checked by the schemas, and given back with texts about each field.

/** Largest size of a form that is sent. A thousand lines of a table fit. */
const maxFormBytes = 256 * 1_024;
const formType = 'application/x-www-form-urlencoded';

const parse = bodyParser({
  enableTypes: ['text'],
  extendTypes: { text: [formType] },
  textLimit: maxFormBytes,
  onError: (error, { req }) => {
    // Read the rest of a refused body, because unread bytes would come before the connection's next request.
    req.resume();
    if ('status' in error && error.status === 413)
      throw new ApiProblem('cuerpo_demasiado_grande', `El formulario admite hasta ${maxFormBytes / 1_024} kB.`);
    throw notAForm();
  },
});

function notAForm(): ApiProblem {
  return new ApiProblem('tipo_no_admitido', `El formulario debe enviarse como ${formType}, en UTF-8 y sin comprimir.`);
}

/** @throws ApiProblem tipo_no_admitido, cuerpo_demasiado_grande */
export async function readForm(context: ApiContext): Promise<URLSearchParams> {
  const isPlain = ['', 'identity'].includes(context.get('Content-Encoding'));
  if (!context.is(formType) || !isPlain) throw notAForm();
  await parse(context, async () => {});
  return new URLSearchParams(context.request.rawBody ?? '');
}

const ownFields = new Set([nameField, tokenField]);

/**
 * Checks the fields of a form, or the filters in an address. Blanks around a text do not count, and an empty field
 * counts as omitted, as a browser sends every field.
 * @param ignoresOthers whether fields that the schema lacks are ignored. Links get parameters added by other sites.
 */
export function fill<Schema extends z.ZodObject>(
  schema: Schema,
  sent: URLSearchParams,
  ignoresOthers = false,
): Filled & { values: z.output<Schema> | null } {
  const names = [...new Set(sent.keys())].filter(
    (name) => !ownFields.has(name) && (!ignoresOthers || Object.hasOwn(schema.shape, name)),
  );
  const typed = Object.fromEntries(names.map((name) => [name, sent.getAll(name).join('\n')]));
  const given = names.flatMap((name) => {
    const texts = sent
      .getAll(name)
      .map((text) => text.trim())
      .filter((text) => text !== '');
    if (texts.length === 0) return [];
    return [[name, texts.length === 1 ? texts[0] : texts]];
  });
  try {
    return { typed, errors: {}, problem: null, values: parseInput(schema, Object.fromEntries(given)) };
  } catch (error) {
    return { typed, ...errorsIn(error, names.concat(Object.keys(schema.shape))), values: null };
  }
}

/**
 * Returns the texts of a refusal: beside the fields it names, or above the page. What is no refusal of input is thrown
 * on, and so is 404: the page would be about a thing that the account does not have. So is a form that may not be sent.
 * @param fields the names of the form's fields
 */
export function errorsIn(error: unknown, fields: readonly string[]): Pick<Filled, 'errors' | 'problem'> {
  if (!(error instanceof ApiProblem) || error.status >= 500 || error.status === 404) throw error;
  if (error.code === 'formulario_rechazado') throw error;
  const beside: [string, string][] = (error.extensions.errors ?? [])
    .filter(({ campo }) => fields.includes(campo))
    .map(({ campo, mensaje }) => [campo, sentence(mensaje)]);
  // The first text about a field is the most important one.
  const errors: FieldErrors = Object.fromEntries(beside.reverse());
  return { errors, problem: beside.length === 0 ? error.message : null };
}

/** Texts of field errors go on after the field's name in the API's answers. Here each stands alone. */
function sentence(text: string): string {
  const end = /[.!?]$/.test(text) ? '' : '.';
  return `${text.charAt(0).toLocaleUpperCase('es')}${text.slice(1)}${end}`;
}
