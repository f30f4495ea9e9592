import { describeError, type Logger } from '../pipelines/runtime/log.ts';
import { ApiProblem, maskedPath, maskText, problemBody, storeUnavailable } from './problems.ts';
import type { ApiContext } from './request.ts';
import { isUnavailable } from './stores.ts';

/** Answers with the problem that the error is; nothing of the inside is shown. Never kept by anyone. */
export function answerProblem(context: ApiContext, error: unknown, log: Logger, baseUrl: string): ApiProblem {
  const problem = asProblem(error);
  const { requestId } = context.state;
  if (problem.status >= 500 && problem.cause !== undefined)
    log.error(
      { request_id: maskText(requestId), code: problem.code, failure: masked(describeError(problem.cause)) },
      'request failed',
    );
  // What a route set for its own answer must not stay on the problem: an ETag would make it look like a record.
  for (const name of ['ETag', 'Last-Modified', 'Vary', 'Location']) context.remove(name);
  context.status = problem.status;
  context.set({
    'Cache-Control': 'no-store',
    'Content-Language': 'es',
    'Content-Type': 'application/problem+json',
    ...problem.headers,
  });
  const around = { baseUrl, instance: maskedPath(context.path), requestId };
  context.body = JSON.stringify(problemBody(problem, around));
  return problem;
}

function asProblem(error: unknown): ApiProblem {
  if (error instanceof ApiProblem) return error;
  if (isUnavailable(error)) return storeUnavailable(error);
  const problem = new ApiProblem('error_interno', 'Ocurrió un error en el servicio. Cite el request_id al reportarlo.');
  problem.cause = error;
  return problem;
}

// Engines quote queries and parameters: what describeError leaves of their messages is masked before it is logged.
function masked(told: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(told).map(([name, value]) => {
      if (typeof value === 'string') return [name, maskText(value)];
      return [name, name === 'cause' ? masked(value as Record<string, unknown>) : value];
    }),
  );
}
