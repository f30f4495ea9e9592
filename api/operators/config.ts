import { z } from 'zod';
import { wholeNumber } from '../../pipelines/runtime/config.ts';

/** Settings of the operators' console. The api serves it, and `padron operators link` shows its address. */
export const operatorBlock = z.object({
  /** Port of the console, which is a listener of its own. Without it there is no console. 0 means any free port. */
  OPERATOR_HTTP_PORT: wholeNumber(0, 65_535).optional(),
  OPERATOR_HTTP_HOST: z.string().default('127.0.0.1'),
  /**
   * Where operators reach the console, if a proxy of ours stands before it (as many as TRUSTED_PROXY_HOPS). Without it
   * they reach the port itself.
   */
  OPERATOR_BASE_URL: z
    .url({ protocol: /^https?$/ })
    .transform((url) => url.replace(/\/+$/, ''))
    .optional(),
});
type OperatorConfiguration = z.output<typeof operatorBlock>;

/** Returns the console's address without a slash at its end, or null when the settings do not say it. */
export function operatorAddress(config: OperatorConfiguration): string | null {
  const { OPERATOR_BASE_URL, OPERATOR_HTTP_HOST, OPERATOR_HTTP_PORT } = config;
  if (OPERATOR_BASE_URL !== undefined) return OPERATOR_BASE_URL;
  if (!OPERATOR_HTTP_PORT) return null;
  const isEverywhere = ['0.0.0.0', '::'].includes(OPERATOR_HTTP_HOST);
  return `http://${isEverywhere ? '127.0.0.1' : OPERATOR_HTTP_HOST}:${OPERATOR_HTTP_PORT}`;
}
