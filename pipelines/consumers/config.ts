import { z } from 'zod';
import {
  archiveBlock,
  clickhouseBlock,
  databaseBlock,
  kafkaBlock,
  processBlock,
  temporalBlock,
} from '../runtime/config.ts';
import { tracingBlock } from '../runtime/tracing/tracing.ts';

const outputs = ['materialize', 'watch'] as const;

export const consumersConfiguration = processBlock
  .extend(databaseBlock.shape)
  .extend(clickhouseBlock.shape)
  .extend(kafkaBlock.shape)
  .extend(temporalBlock.shape)
  .extend(tracingBlock.shape)
  .extend({
    ARCHIVE_URL: archiveBlock.shape.ARCHIVE_URL,
    /** Which groups this process hosts, separated by commas. */
    CONSUMERS: z
      .string()
      .default(outputs.join(','))
      .transform((text) => text.split(','))
      .pipe(z.array(z.enum(outputs)).min(1)),
  });
export type ConsumersConfiguration = z.output<typeof consumersConfiguration>;
