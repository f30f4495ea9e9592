import type { Publication } from '../../pipelines/editions/publications.ts';
import { type CommandContext, exitStopped, type OutputOptions } from './context.ts';

/** One line for a person. */
export function lineOf(publication: Publication): string {
  const { id, register, fecha_dato, state, rows, edition, state_reason } = publication;
  const parts = [`#${id}`, register, fecha_dato ?? 'no date', state];
  if (edition !== null) parts.push(`edition ${edition}`);
  if (rows !== null) parts.push(`${rows.toLocaleString('en')} rows, ${publication.rejected ?? 0} rejected`);
  if (state_reason !== null) parts.push(state_reason);
  return parts.join('  ');
}

export function showSettled(context: CommandContext, options: OutputOptions, publication: Publication): void {
  context.show(options, publication, lineOf(publication));
  noteStopped(context, publication);
}

/** Says what is to be done about a publication that did not become an edition; the command then ends with `exitStopped`. */
export function noteStopped(context: CommandContext, { id, state }: Publication): void {
  if (state === 'en_cuarentena') context.note(`It waits for a decision: npx padron publications show ${id}`);
  if (['en_cuarentena', 'rechazada'].includes(state)) process.exitCode = exitStopped;
}
