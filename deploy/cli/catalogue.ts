import type { Listed } from '../../api/operators/listed.ts';
import type { Archive } from '../../pipelines/archive/archive.ts';
import { openArchive } from '../../pipelines/archive/open.ts';
import { adoptCommand, streamAheadReason } from '../../pipelines/editions/adopt.ts';
import { DecisionError } from '../../pipelines/editions/decisions.ts';
import { findPublication, type Publication } from '../../pipelines/editions/publications.ts';
import { archiveBlock } from '../../pipelines/runtime/config.ts';
import { inTransaction, type PoolClient } from '../../pipelines/runtime/postgres.ts';
import { type CommandContext, CommandError, exitStopped } from './context.ts';
import { figure } from './progress.ts';

// This file has what the commands about publications, editions and rejects share.

/** @throws CommandError when there is no such publication */
export async function requirePublication(context: CommandContext, id: number): Promise<Publication> {
  const publication = await findPublication(context.pool(), id);
  if (publication !== null) return publication;
  throw new CommandError(`There is no publication ${id}.`, 'See them with: npx padron publications list');
}

/**
 * Takes an operator's decision in one transaction.
 * @param list the command that lists the publications or editions; the error advises it when the number does not exist
 * @param show the command that shows why the decision is refused; the error advises it otherwise
 * @throws CommandError when the decision is refused. The exit code is `exitStopped` for a publication that is older
 *   than the newest edition, because that publication still waits.
 */
export async function decide<Result>(
  context: CommandContext,
  decision: (client: PoolClient) => Promise<Result>,
  { list, show }: { list: string; show: string },
): Promise<Result> {
  try {
    return await inTransaction(context.pool(), decision);
  } catch (error) {
    if (!(error instanceof DecisionError)) throw error;
    const isUnknown = error.code === 'publication_unknown' || error.code === 'edition_unknown';
    const advice = isUnknown ? `See them with: npx padron ${list}` : `See it with: npx padron ${show}`;
    const isOlder = error.code === 'older_than_head';
    throw new CommandError(`${error.message}.`, advice, isOlder ? exitStopped : 1);
  }
}

export function publicationLine(publication: Publication): string {
  const { id, register, fecha_dato, state, rows, edition, state_reason } = publication;
  const parts = [`#${id}`, register, fecha_dato ?? 'no date', state];
  if (edition !== null) parts.push(`edition ${edition}`);
  if (rows !== null) parts.push(`${figure(rows)} rows, ${publication.rejected ?? 0} rejected`);
  if (state_reason !== null) parts.push(state_reason);
  return parts.join('  ');
}

/** Whether a publication or a correction waits for `padron editions adopt`. */
export function isHeld({ edition, state_reason }: Pick<Publication, 'edition' | 'state_reason'>): boolean {
  return edition === null && state_reason?.startsWith(streamAheadReason) === true;
}

/**
 * Makes the command end with `exitStopped` when the publication did not become an edition, and notes what to do next
 * when it waits for the operator.
 */
export function noteStopped(context: CommandContext, publication: Publication): void {
  const { id, state } = publication;
  if (state === 'en_cuarentena') context.note(`It waits for a decision: npx padron publications show ${id}`);
  if (isHeld(publication)) context.note(`It waits for: ${adoptCommand} --dry-run`);
  if (['en_cuarentena', 'rechazada'].includes(state) || isHeld(publication)) context.exitCode = exitStopped;
}

/** Makes two lines per gate (a check of a publication): the value that was found and its limit, then both in words. */
export function gateLines(gates: Publication['gates']): string[] {
  if (gates.length === 0) return ['  no gate has judged it yet'];
  return gates.flatMap(({ gate, passed, value, limit, text }) => [
    `  ${passed ? 'passed' : 'FAILED'}  ${gate}  ${gateFigure(value)}  limit ${gateFigure(limit)}`,
    `          ${text}`,
  ]);
}

function gateFigure(value: number | string | null): string {
  if (value === null) return 'none';
  return typeof value === 'number' ? value.toLocaleString('en', { maximumSignificantDigits: 6 }) : value;
}

export async function openConfiguredArchive(context: CommandContext): Promise<Archive> {
  const { ARCHIVE_URL, WORK_DIR } = context.configuration(archiveBlock);
  return await openArchive(ARCHIVE_URL, WORK_DIR);
}

/** Makes a line per listed row, and a line with the number of rows that are not shown. */
export function listedLines({ lines, omitted }: Listed): string[] {
  const shown = lines.map(({ line, reason, ruc }) =>
    [`  ${line === null ? '' : `line ${line}`}`.padEnd(16), reason.padEnd(18), ruc ?? ''].join('  ').trimEnd(),
  );
  return omitted === 0 ? shown : [...shown, `  and ${figure(omitted)} more`];
}
