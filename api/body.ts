import { bodyParser } from '@koa/bodyparser';
import type { z } from 'zod';
import { ApiProblem } from './problems.ts';
import { type ApiContext, type ApiMiddleware, parseInput } from './request.ts';

/** Enough for 1,000 RUCs with much room; a larger body is refused before it is read whole. */
const maxBodyBytes = 64 * 1024;

const parse = bodyParser({
  enableTypes: ['json'],
  jsonLimit: maxBodyBytes,
  jsonStrict: true,
  onError: (error) => {
    throw bodyProblem(error);
  },
});

/** Reads a JSON body; the route then takes it with `bodyOf`. */
export const readBody: ApiMiddleware = async (context, next) => {
  const hasBody = context.req.headers['transfer-encoding'] !== undefined || Number(context.get('Content-Length')) > 0;
  if (hasBody && !context.is('application/json', 'application/*+json'))
    throw new ApiProblem('tipo_no_admitido', 'El cuerpo debe enviarse como Content-Type: application/json.');
  return parse(context, next);
};

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
  if (status === 415) return new ApiProblem('tipo_no_admitido', 'La codificación del cuerpo no se admite.');
  // The parser's own text quotes the body, which may hold anything.
  return new ApiProblem('json_invalido', 'El cuerpo no es un objeto JSON válido.');
}
