import type { RegisterName } from '../../schemas/registers.ts';
import type { PoolClient } from '../runtime/postgres.ts';
import { type Edition, findEdition, forgetEditionsFrom } from './editions.ts';
import { findPublication, type Publication } from './publications.ts';

type DecisionErrorCode =
  | 'publication_unknown'
  | 'state_forbids'
  | 'date_missing'
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
 * workflows/publication/gates.ts) are recorded but no longer stop it. If the publication has no date, `fechaDato`
 * becomes its date.
 * @throws DecisionError `publication_unknown`; `state_forbids` when it is not in quarantine; `bytes_missing` when it
 * was never downloaded whole; `date_missing` when neither the publication nor the decision has a date
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
  if (publication.published_at === null && decision.fechaDato === null) {
    throw new DecisionError('date_missing', `publication ${id} has no date: give it one with --date YYYY-MM-DD`);
  }
  await client.query(
    `UPDATE publication SET state = 'descargada', state_at = now(), decided_by = $2, state_reason = $3,
       published_at = COALESCE(published_at, ($4::date)::timestamp AT TIME ZONE 'America/Lima'),
       fecha_dato = COALESCE(fecha_dato, $4::date)
     WHERE id = $1`,
    [id, decision.by, decision.reason, decision.fechaDato],
  );
  return (await findPublication(client, id))!;
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
 * Requests that an edition be produced to Kafka again, because some of its rows did not arrive in ClickHouse. It
 * deletes the edition's end offsets, so that `editionsBeyond` counts the edition as lost. Readers count repeated rows
 * once. The edition must be published and not materialised. Then it is the newest edition, so only its own end offsets
 * are deleted. A repeat of the request does no harm.
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
