import type { NamedCount, Preview } from '../../../api/operators/preview.ts';
import { archiveBlock, clickhouseBlock, databaseBlock } from '../../../pipelines/runtime/config.ts';
import { type PadronCommand, wholeNumber } from '../arguments.ts';
import { openConfiguredArchive, requirePublication } from '../catalogue.ts';
import { type CommandContext, CommandError, type OutputOptions } from '../context.ts';
import { figure } from '../progress.ts';

/** These settings are one schema, so that one error names all missing settings. */
const settings = databaseBlock.extend(clickhouseBlock.shape).extend(archiveBlock.shape);
const requestTimeoutMs = 60_000;
/** Every row of the largest register may have changed. */
const previewTimeoutMs = 30 * 60_000;

const reasons: Readonly<Record<Exclude<Preview['outcome'], 'counted'>, string>> = {
  no_events: 'Its register makes no notices.',
  not_compared: 'It was never compared with an edition.',
  no_archive: 'There is no archive.',
  too_many: 'Counting took too long.',
  file_lost: 'Its change file is not in the archive, or damaged.',
};

/** `padron publications notices`: what approving a publication would send. Nothing is written. */
export function addNoticesCommand(publications: PadronCommand, context: CommandContext): void {
  publications
    .command('notices')
    .description('What approving a publication would send, by customer and kind. Counts only: nothing is written.')
    .argument('<id>', 'its number', wholeNumber)
    .examples('publications notices 7', 'publications notices 7 --json')
    .action(async (id: number, options: OutputOptions) => {
      const publication = await requirePublication(context, id);
      const { previewPublication } = await import('../../../api/operators/preview.ts');
      const preview = await previewPublication(await dependenciesOf(context), publication, previewTimeoutMs);
      if (preview.outcome !== 'counted')
        throw new CommandError(reasons[preview.outcome], `See it with: npx padron publications show ${id}`);
      if (!preview.isCurrent)
        context.note(
          `It was compared with edition ${preview.comparedWith}, and is compared again when it is approved.`,
        );
      context.show(options, preview, preview.counts.length === 0 ? 'No notices.' : preview.counts.map(countLine));
    });
}

/** The clients are imported only here, because the other commands about publications do not need them. */
async function dependenciesOf(context: CommandContext) {
  const config = context.configuration(settings);
  const { clickhouseAccess, makeClickhouse } = await import('../../../pipelines/runtime/clickhouse.ts');
  const { makeLastKnownRows } = await import('../../../pipelines/watch/watchers.ts');
  const clickhouse = makeClickhouse(clickhouseAccess(config), 'padron-cli', { requestTimeoutMs, connections: 1 });
  context.onEnd(() => clickhouse.close());
  return {
    pool: context.pool(),
    archive: await openConfiguredArchive(context),
    now: () => new Date(),
    lastKnownRows: makeLastKnownRows(clickhouse),
  };
}

function countLine({ accountId, account, evento, events, deliveries, held }: NamedCount): string {
  const counts = [`${figure(events)} events`, `${figure(deliveries)} deliveries`, `${figure(held)} held`];
  return [`account ${accountId}`, account, evento, ...counts].join('\t');
}
