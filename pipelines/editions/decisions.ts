import { limaDay, startOfLimaDay } from '../../schemas/lima-time.ts';
import type { RegisterName } from '../../schemas/registers.ts';
import type { SourceDate } from '../registers/module.ts';
import type { PoolClient } from '../runtime/postgres.ts';
import { type Edition, findEdition, forgetEditionsFrom } from './editions.ts';
import { type Head, readHead } from './heads.ts';
import { findPublication, type Publication } from './publications.ts';

type DecisionErrorCode =
  | 'publication_unknown'
  | 'state_forbids'
  | 'date_missing'
  | 'date_ahead'
  | 'older_than_head'
  | 'bytes_missing'
  | 'edition_unknown'
  | 'already_corrected'
  | 'not_correctable';

/** Thrown when the current state does not allow an operator's decision. */
export class DecisionError extends Error {
  override name = 'DecisionError';
  readonly code: DecisionErrorCode;
  readonly retryable = false;

  constructor(code: DecisionErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}

interface Decision {
  by: string;
  reason: string | null;
}

/**
 * Takes a publication out of quarantine. It is verified again and compared with today's head. Its gates (the checks in
 * workflows/publication/gates.ts) are recorded but no longer stop it. A `fechaDato` becomes the day of its data.
 * @throws DecisionError `publication_unknown`; `state_forbids` when it is not in quarantine, or another publication has
 * the same bytes and time; `bytes_missing` when it was never downloaded whole; and the errors of `approvedDate`
 */
export async function approvePublication(
  client: PoolClient,
  id: number,
  decision: Decision & { fechaDato: string | null },
): Promise<Publication> {
  const publication = await lockQuarantined(client, id);
  if (publication.sha256 === null) {
    throw new DecisionError('bytes_missing', `publication ${id} was never downloaded whole: run the register again`);
  }
  const { register, sha256 } = publication;
  const { publishedAt, fechaDato } = approvedDate(publication, await readHead(client, register), decision.fechaDato);
  const { rows } = await client.query<{ id: number }>(
    'SELECT id FROM publication WHERE register = $1 AND sha256 = $2 AND published_at = $3 AND id <> $4',
    [register, sha256, publishedAt, id],
  );
  if (rows[0] !== undefined) {
    const twin = `publication ${rows[0].id} has the same bytes and time`;
    throw new DecisionError('state_forbids', `${twin}: reject publication ${id}`);
  }
  await client.query(
    `UPDATE publication SET state = 'descargada', state_at = now(), decided_by = $2, state_reason = $3,
       published_at = $4, fecha_dato = $5
     WHERE id = $1`,
    [id, decision.by, decision.reason, publishedAt, fechaDato],
  );
  return (await findPublication(client, id))!;
}

/**
 * Returns the time and day of a publication that an operator approves. If it was published before the head, the
 * operator must give the `day` of its data. It then counts as published at the start of that day, but not before the
 * head.
 * @throws DecisionError `date_missing` without any date; `date_ahead` for a day that has not come; `older_than_head`
 * when the day is before the head's, or when the time is before the head's and no day is given
 */
function approvedDate(publication: Publication, head: Head, day: string | null): SourceDate {
  const { id, published_at, fecha_dato } = publication;
  const today = limaDay(new Date());
  const fechaDato = day ?? fecha_dato;
  if (fechaDato === null) {
    throw new DecisionError('date_missing', `publication ${id} has no date: give it one with --date YYYY-MM-DD`);
  }
  if (day !== null && day > today) {
    throw new DecisionError('date_ahead', `${day} has not come: publication ${id} has the data of ${today} or before`);
  }
  const older = (what: string) => {
    const remedy = `give the day of its data with --date (${head.fecha_dato} or later), or reject it`;
    return new DecisionError('older_than_head', `${what}, which never replaces edition ${head.edition}: ${remedy}`);
  };
  if (day !== null && head.fecha_dato !== null && day < head.fecha_dato) {
    throw older(`publication ${id} would have the older data of ${day}`);
  }
  const publishedAt = published_at ?? startOfLimaDay(fechaDato);
  if (head.published_at === null || publishedAt >= head.published_at) return { publishedAt, fechaDato };
  if (day === null) throw older(`publication ${id} was published before the head (${publishedAt.toISOString()})`);
  const start = Math.max(startOfLimaDay(day).getTime(), head.published_at.getTime());
  return { publishedAt: new Date(start), fechaDato };
}

export async function rejectPublication(client: PoolClient, id: number, decision: Decision): Promise<Publication> {
  const publication = await lockQuarantined(client, id);
  await client.query(
    `UPDATE publication SET state = 'rechazada', state_at = now(), decided_by = $2, state_reason = $3 WHERE id = $1`,
    [id, decision.by, decision.reason ?? publication.state_reason],
  );
  return (await findPublication(client, id))!;
}

/**
 * Requests that an edition be produced to Kafka again, because ClickHouse lacks some of its rows. Deletes the recorded
 * offsets at which the edition ends in Kafka. `editionsBeyond` counts an edition without them as lost from Kafka, so it
 * is produced again. Readers count repeated rows once, and a repeat of the request does no harm. An edition that is
 * published and not materialised is the newest, so no other edition's offsets are deleted.
 * @throws DecisionError `edition_unknown`; `state_forbids` when the edition is not published yet or is materialised
 */
export async function publishAgain(client: PoolClient, register: RegisterName, number: number): Promise<Edition> {
  const edition = await findEdition(client, register, number);
  if (edition === null) throw new DecisionError('edition_unknown', `${register} has no edition ${number}`);
  if (edition.publicada_at === null || edition.materializada_at !== null) {
    const why =
      edition.publicada_at === null ? 'is still being published' : 'is materialised: nothing of it is missing';
    throw new DecisionError('state_forbids', `edition ${number} of ${register} ${why}`);
  }
  await forgetEditionsFrom(client, register, number);
  return edition;
}

async function lockQuarantined(client: PoolClient, id: number): Promise<Publication> {
  await client.query('SELECT 1 FROM publication WHERE id = $1 FOR UPDATE', [id]);
  const publication = await findPublication(client, id);
  if (publication === null) throw new DecisionError('publication_unknown', `there is no publication ${id}`);
  if (publication.state !== 'en_cuarentena') {
    throw new DecisionError('state_forbids', `publication ${id} is ${publication.state}, not en_cuarentena`);
  }
  return publication;
}
