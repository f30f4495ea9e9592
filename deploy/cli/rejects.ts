import { pipeline } from 'node:stream/promises';
import type { Command } from 'commander';
import { z } from 'zod';
import { findPublication, type Publication } from '../../pipelines/editions/publications.ts';
import { wholeNumber } from './arguments.ts';
import { type CommandContext, CommandError, type OutputOptions } from './context.ts';
import { type Listed, listedText, openConfiguredArchive, readListed } from './listed-lines.ts';

interface RejectsOptions extends OutputOptions {
  raw?: boolean;
  limit: number;
}

/** What a comparison left with the publication; null before it was compared. */
const comparedSchema = z.object({
  rejectsSha256: z.string().nullable(),
  counts: z.object({ rejectedByReason: z.record(z.string(), z.number()) }),
});

/** `padron rejects`: the lines of a publication that are listed beside it, since they are no row or were mended. */
export function registerRejectsCommand(program: Command, context: CommandContext): void {
  program
    .command('rejects')
    .description(
      'Lines of a publication that are no row, repeats and mended ones, with their reasons. RUCs are masked.',
    )
    .argument('<publication>', 'its number, as `padron publications list` shows it', wholeNumber)
    .option('--limit <count>', 'how many lines at most', wholeNumber, 50)
    .option('--raw', 'the archived list itself, as NDJSON with the lines as published: personal data')
    .option('--json', 'one JSON document on standard output')
    .addHelpText(
      'after',
      '\nExamples:\n  $ npx padron rejects 7\n  $ npx padron rejects 7 --json\n  $ npx padron rejects 7 --raw > rejects.ndjson',
    )
    .action(async (id: number, options: RejectsOptions) => {
      if (options.raw && options.json) throw new CommandError('--raw is NDJSON already.', 'Leave --json out.');
      const publication = await findPublication(context.pool(), id);
      if (publication === null)
        throw new CommandError(`There is no publication ${id}.`, 'See them with: npx padron publications list');
      const compared = comparedSchema.nullable().parse(publication.compare_result);
      const sha256 = compared?.rejectsSha256 ?? null;
      if (options.raw && sha256 !== null) return await writeRaw(context, publication, sha256);
      const listed = await listedOf(context, publication, sha256, options.limit);
      const counts = compared?.counts.rejectedByReason ?? null;
      const { register } = publication;
      context.show(options, { publication: id, register, counts, ...listed }, linesOf(publication, counts, listed));
    });
}

async function listedOf(
  context: CommandContext,
  { register }: Publication,
  sha256: string | null,
  limit: number,
): Promise<Listed> {
  return sha256 === null
    ? { lines: [], omitted: 0 }
    : await readListed(await openConfiguredArchive(context), register, sha256, limit);
}

async function writeRaw(context: CommandContext, { register }: Publication, sha256: string): Promise<void> {
  context.note('Lines as published: they may hold names and ids of natural persons. Delete the copy when it is read.');
  const archive = await openConfiguredArchive(context);
  await pipeline(await archive.read({ register, kind: 'rejects', sha256 }), context.output, { end: false });
}

function linesOf({ id }: Publication, counts: Record<string, number> | null, { lines, omitted }: Listed): string[] {
  if (counts === null) return [`Publication ${id} was not compared: nothing is known of its lines.`];
  const reasons = Object.entries(counts).filter(([, count]) => count > 0);
  reasons.sort(([, one], [, other]) => other - one);
  if (reasons.length === 0) return [`Publication ${id} has no rejected, repeated or mended lines.`];
  return [
    ...reasons.map(([reason, count]) => `${reason}: ${count.toLocaleString('en')}`),
    ...lines.map(listedText),
    ...(omitted === 0 ? [] : [`  and ${omitted.toLocaleString('en')} more`]),
  ];
}
