import { type ApiContext, type ApiMiddleware, callerOf } from '../request.ts';
import { showMonth } from './headers.ts';
import { monthOf } from './periods.ts';
import type { Meter, Reservation } from './types.ts';

/**
 * Stands after `access` on every metered route. It sets one unit aside before the route looks anything up; the route calls
 * `charge` once it has what costs, and what it did not charge goes back however the route ends. Also says what is left of
 * the month in the headers.
 */
export function metered(meter: Meter): ApiMiddleware {
  return async (context, next) =>
    reserving(context, meter, async () => {
      await reserve(context, meter, 1);
      await next();
    });
}

/** The same for a route that knows only from its body how many units it needs, and calls `reserve` itself. */
export function meteredByBody(meter: Meter): ApiMiddleware {
  return async (context, next) => reserving(context, meter, next);
}

/** @throws ApiProblem cuota_agotada, servicio_no_disponible */
export async function reserve(context: ApiContext, meter: Meter, units: number): Promise<Reservation> {
  const reservation = await meter.reserve(callerOf(context), units);
  context.state.reservation = reservation;
  return reservation;
}

/** One unit: a record was found, a page has content. */
export function charge(context: ApiContext): void {
  const { reservation } = context.state;
  if (reservation === undefined) throw new Error('a route charges without being metered');
  reservation.charge(1);
}

async function reserving(context: ApiContext, meter: Meter, work: () => Promise<unknown>): Promise<void> {
  try {
    await work();
  } finally {
    context.state.reservation?.release();
    const standing = meter.standing(callerOf(context).accountId);
    const nowMs = Date.now();
    if (standing !== null) showMonth(context, standing, monthOf(nowMs), nowMs);
  }
}
