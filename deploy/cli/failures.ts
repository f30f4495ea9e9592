import { CommandError } from './context.ts';

/** What the person reads on standard error: what went wrong and what to do next. Never a stack trace of an engine. */
export function explain(error: unknown): string {
  if (error instanceof CommandError) return lines(error.message, error.advice);
  if (!(error instanceof Error)) return lines(String(error));
  const code = 'code' in error ? String(error.code) : '';
  if (code === 'ECONNREFUSED' || code === 'ENOTFOUND' || /timeout exceeded when trying to connect/.test(error.message))
    return lines(
      `An engine does not answer (${code || error.message}).`,
      'Start the stack with `npm start`, or check the addresses in the environment.',
    );
  if (code === '42P01' || code === '3F000')
    return lines('The database has no tables of this service.', 'Run `npx padron migrate` first.');
  return lines(error.message || error.name, undefined, code);
}

function lines(message: string, advice?: string, code?: string): string {
  return [`error: ${message}${code ? ` (${code})` : ''}`, ...(advice ? [advice] : [])].join('\n');
}
