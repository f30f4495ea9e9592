import { bodyParser } from '@koa/bodyparser';
import type { z } from 'zod';
import { ApiProblem } from './problems.ts';
import { type ApiContext, type ApiMiddleware, parseInput } from './request.ts';

/** Enough for 1,000 RUCs with much room; a larger body is refused before it is read whole. */
const maxBodyBytes = 64 * 1024;

const jsonTypes = ['application/json', 'application/*+json'];

const parse = bodyParser({
  enableTypes: ['json'],
  // What readBody lets through; the library's own list names only some of the second kind and passes over the others' bodies.
  extendTypes: { json: jsonTypes },
  jsonLimit: maxBodyBytes,
  jsonStrict: true,
  onError: (error, { req }) => {
    // What is left of a body that was refused half way: unread it would stand before the connection's next request.
    req.resume();
    throw bodyProblem(error);
  },
});

/** Reads a JSON body; the route then takes it with `bodyOf`. */
export const readBody: ApiMiddleware = async (context, next) => {
  const hasBody = context.req.headers['transfer-encoding'] !== undefined || Number(context.get('Content-Length')) > 0;
  if (hasBody && !context.is(jsonTypes))
    throw new ApiProblem('tipo_no_admitido', 'El cuerpo debe enviarse como Content-Type: application/json.');
  // The parser reads any other as UTF-8 too: names would be kept as nobody wrote them.
  if (!utf8Names.has(context.request.charset.toLowerCase()))
    throw new ApiProblem('tipo_no_admitido', 'El cuerpo debe enviarse en UTF-8.');
  // The parser's unpacking goes on after it has refused a body: corrupt data then end the process. And 64 kB need no packing.
  if (!['', 'identity'].includes(context.get('Content-Encoding')))
    throw new ApiProblem('tipo_no_admitido', 'El cuerpo debe enviarse sin comprimir, sin Content-Encoding.');
  return parse(context, () => {
    // Stands for bytes that are no UTF-8, as a program that says nothing of its charset may send them.
    if (context.request.rawBody?.includes('\uFFFD'))
      throw new ApiProblem(
        'json_invalido',
        'El cuerpo no está en UTF-8: una letra con tilde o una ñ llegó con otra codificación.',
      );
    return next();
  });
};

/** ASCII is UTF-8 too; empty: none is said. */
const utf8Names = new Set(['', 'utf-8', 'utf8', 'us-ascii']);

/** @throws ApiProblem json_invalido, parametro_desconocido, parametro_invalido */
export function bodyOf<Schema extends z.ZodType>(context: ApiContext, schema: Schema): z.output<Schema> {
  if (!context.request.rawBody) throw new ApiProblem('json_invalido', 'Falta el cuerpo JSON de la petición.');
  return parseInput(schema, context.request.body);
}

/** As `bodyOf`, for an operation whose body may be left out. */
export function optionalBodyOf<Schema extends z.ZodType>(context: ApiContext, schema: Schema): z.output<Schema> {
  return parseInput(schema, context.request.rawBody ? context.request.body : {});
}

function bodyProblem(error: Error): ApiProblem {
  const status = 'status' in error ? error.status : undefined;
  if (status === 413) return new ApiProblem('cuerpo_demasiado_grande', 'El cuerpo admite hasta 64 kB.');
  // The parser's own text quotes the body, which may hold anything.
  return new ApiProblem('json_invalido', 'El cuerpo no es un objeto JSON válido.');
}
