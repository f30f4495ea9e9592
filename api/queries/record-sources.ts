import type { Source, TaxpayerMeta } from '../../schemas/http/taxpayer.ts';
import { padronReducido, type RegisterName } from '../../schemas/registers.ts';
import type { ServedRegister, ServedRegisters } from '../catalogue.ts';

/** The registers that a taxpayer's record is made of, in the order in which `fuentes` tells them. */
export const recordRegisters = [
  'padron_reducido',
  'padron_mensual',
  'agentes_retencion',
  'buenos_contribuyentes',
] as const;
export type RecordRegister = (typeof recordRegisters)[number];

/** What an answer says of the editions that it was made from. */
export interface RecordSources {
  meta: TaxpayerMeta;
  /** Their numbers, for the ETag. */
  tag: string;
  /** Of the newest of them. */
  lastModified: string;
}

/** `meta.fecha_dato` is the daily register's: the record is of it, the others add to it, each with its own date. */
export function recordSourcesOf(daily: ServedRegister, editions: ServedRegisters): RecordSources {
  const { fuentes, tag, lastModified } = sourcesOf(recordRegisters, editions);
  return {
    meta: {
      origen: padronReducido.title,
      fecha_dato: daily.edition.fechaDato,
      fecha_padrones: {
        agentes_retencion: editions.agentes_retencion?.edition.fechaDato ?? null,
        buenos_contribuyentes: editions.buenos_contribuyentes?.edition.fechaDato ?? null,
      },
      fuentes,
    },
    tag,
    lastModified,
  };
}

/** What is said of the loaded ones of these registers, of which at least one is. */
export function sourcesOf(
  names: readonly RegisterName[],
  editions: ServedRegisters,
): { fuentes: Source[]; tag: string; lastModified: string } {
  const used = names.flatMap((name) => editions[name] ?? []);
  const newest = used.reduce((one, other) => (other.edition.publishedAt > one.edition.publishedAt ? other : one));
  return {
    fuentes: used.map(({ source }) => source),
    tag: used.map(({ edition }) => edition.number).join('.'),
    lastModified: newest.lastModified,
  };
}
