import { accountOperations } from './routes/account.ts';
import { calendarOperations } from './routes/calendar.ts';
import { deliveryOperations } from './routes/deliveries.ts';
import { taxpayerOperations } from './routes/taxpayer.ts';
import { watchOperations } from './routes/watch.ts';
import { webhookOperations } from './routes/webhooks.ts';

/** Every route of the public API, by the name of its operation: a route that is not here fails a test. */
export const operations = {
  ...taxpayerOperations,
  ...calendarOperations,
  ...watchOperations,
  ...webhookOperations,
  ...deliveryOperations,
  ...accountOperations,
} as const;

export type Operations = typeof operations;
export type OperationName = keyof Operations;
