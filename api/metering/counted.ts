import { ApiProblem } from '../problems.ts';
import type { ApiContext } from '../request.ts';
import { showMinute } from './headers.ts';
import type { MinuteLimits } from './minute-limits.ts';
import { secondsUntil } from './periods.ts';
import type { MinuteSubject } from './subjects.ts';

/**
 * Counts the request, whatever its route, and says in the headers what is left of the minute.
 * @throws ApiProblem limite_por_minuto, with the seconds to the next minute as Retry-After
 */
export async function countRequest(context: ApiContext, limits: MinuteLimits, subject: MinuteSubject): Promise<void> {
  const standing = await limits.count(subject);
  const nowMs = Date.now();
  showMinute(context, standing, nowMs);
  if (standing.isWithin) return;
  const seconds = secondsUntil(standing.endsAtMs, nowMs);
  throw new ApiProblem(
    'limite_por_minuto',
    `Se admiten ${subject.limit} solicitudes por minuto; el siguiente minuto empieza en ${seconds} s.`,
    {},
    { 'Retry-After': String(seconds) },
  );
}
