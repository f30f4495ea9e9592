import type { ClickHouseSpan, ClickHouseTracer } from '@clickhouse/client';
import type { Attributes, Tracing } from './tracing.ts';

/**
 * The client's queries as parts of the units that wait for them, with the query's id as ClickHouse's own log has it. Queries of
 * no unit (a readiness check, a gauge) are no trace of their own.
 */
export function clickhouseTracer(tracing: Tracing): ClickHouseTracer {
  return {
    startActiveSpan<Result>(
      name: string,
      options: { attributes?: Attributes },
      work: (span: ClickHouseSpan) => Result,
    ): Result {
      // What the client calls a stream is the reading of an answer that is there, and outlives this call.
      if (tracing.current() === undefined || name.endsWith('.stream')) return work(untold);
      const told = tracing.during({ name, kind: 'client', attributes: options.attributes ?? {} }, async (unit) =>
        work({ ...untold, setAttributes: (attributes) => unit.describe(attributes) }),
      );
      // All other operations are promises.
      return told as Result;
    },
  };
}

/** Its errors' texts quote queries with their RUCs: the unit tells the error's class by itself, and ends by itself. */
const untold: ClickHouseSpan = { setAttributes() {}, setStatus() {}, recordException() {}, end() {} };
