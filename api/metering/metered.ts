import { type ApiContext, type ApiMiddleware, callerOf } from '../request.ts';
import { showMonth } from './headers.ts';
import type { Meter, Reservation } from './types.ts';

/**
 * Stands after `access` on every metered route. The route calls `reserve` once its input is judged and before it looks
 * anything up, then `charge` once it has what costs; what it did not charge goes back however it ends. Also says what is left
 * of the month in the headers.
 */
export function metered(meter: Meter): ApiMiddleware {
  return async (context, next) => {
    try {
      await next();
    } finally {
      context.state.reservation?.release();
      const standing = await meter.standing(callerOf(context));
      if (standing !== null) showMonth(context, standing, Date.now());
    }
  };
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
  if (reservation === undefined) throw new Error('a route charges without having reserved');
  reservation.charge(1);
}
