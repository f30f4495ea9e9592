import type { Catalogue } from '../catalogue.ts';

/** Every meta states the date of the data; lists and webhooks exist before any data does, so here it may be null. */
export async function registerMetaOf(catalogue: Catalogue): Promise<{ fecha_dato: string | null }> {
  const { padron_reducido } = await catalogue.snapshot();
  return { fecha_dato: padron_reducido?.edition.fechaDato ?? null };
}
