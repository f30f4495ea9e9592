import type { IdentifyReader } from '../accounts/callers.ts';
import type { CurrentCalendar } from '../calendar/store.ts';
import { accountSubject, addressSubject } from '../metering/minute-limits.ts';
import { ApiProblem } from '../problems.ts';
import type { ApiContext, ApiMiddleware } from '../request.ts';

export interface CalendarParts {
  identifyReader: IdentifyReader;
  /** Asked once per answer, so that data and version are of one moment. */
  calendar: () => CurrentCalendar;
  sandboxToken: string;
  now: () => Date;
}

/** The calendar is in every plan and costs nothing: a token is asked for, and no more. */
export function readerAccess({ identifyReader }: Pick<CalendarParts, 'identifyReader'>): ApiMiddleware {
  return async (context, next) => {
    await identify(context, identifyReader);
    return next();
  };
}

/**
 * Calendar programs cannot send headers, so a feed takes the sandbox token, which is public, in its address. Another token
 * there would stand in histories and logs of others: it is refused, and its text is repeated nowhere.
 */
export function feedAccess({ identifyReader, sandboxToken }: CalendarParts): ApiMiddleware {
  return async (context, next) => {
    const { token } = context.query;
    if (token === undefined) await identify(context, identifyReader);
    else if (token !== sandboxToken)
      throw new ApiProblem(
        'parametro_invalido',
        'token: en la dirección se admite solo el token de pruebas; un token propio va en la cabecera Authorization.',
        { errors: [{ campo: 'token', mensaje: 'solo se admite el token de pruebas' }] },
      );
    else await context.state.countRequest(addressSubject(context.ip));
    return next();
  };
}

async function identify(context: ApiContext, identifyReader: IdentifyReader): Promise<void> {
  const caller = await identifyReader(context.req.headers.authorization);
  if (caller !== null) context.state.caller = caller;
  await context.state.countRequest(caller === null ? addressSubject(context.ip) : accountSubject(caller));
}
