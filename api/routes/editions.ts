import { DeltaError } from '../../pipelines/deltas/files.ts';
import { type Delta, tagOf } from '../../pipelines/deltas/job.ts';
import { type ListedEdition, pageEditions, servedEdition } from '../../pipelines/editions/list.ts';
import { deltaTypes } from '../../schemas/http/editions.ts';
import { limaTime } from '../../schemas/lima-time.ts';
import { isRegisterName, type RegisterName, registers } from '../../schemas/registers.ts';
import { isCurrent, wholeSecondFrom } from '../conditional.ts';
import type { ApiDependencies } from '../dependencies.ts';
import { rangeStream } from '../editions/downloads.ts';
import { isSameFile, rangeOf } from '../editions/ranges.ts';
import { pageOf, readCursor } from '../input.ts';
import { ApiProblem, notFound, registerNotLoaded, throwUnavailable } from '../problems.ts';
import { type ApiContext, callerOf } from '../request.ts';
import type { Handlers } from '../router.ts';
import { auditEdition } from './taxpayer.ts';

/** The editions of a register, and the changes of each as a file (`pipelines/deltas`). */
export function makeEditionHandlers({ catalogue, pool, deltas, downloads, recordAnswers }: ApiDependencies) {
  /** @throws ApiProblem a 404 only when the register is loaded and has no such edition; it names the last one */
  async function requireEdition(registro: string, numero: string): Promise<ListedEdition> {
    if (!isRegisterName(registro)) throw notFound('El padrón');
    const { [registro]: served } = await catalogue.snapshot();
    const number = /^[0-9]{1,15}$/.test(numero) ? Number(numero) : 0;
    const edition = number === 0 ? null : await servedEdition(pool, registro, number).catch(throwUnavailable);
    if (edition !== null) return edition;
    if (served === undefined) throw registerNotLoaded();
    throw notFound(`Esa edición de ${registro}, cuya última es la ${served.edition.number},`);
  }

  return {
    async verEdiciones({ query: { registro, desde = null, hasta = null, limite, cursor } }) {
      const before = cursor === undefined ? null : Number(readCursor('ediciones', cursor, ''));
      const { [registro]: served } = await catalogue.snapshot();
      const filter = { register: registro, before, from: desde, to: hasta };
      const rows = await pageEditions(pool, filter, limite + 1).catch(throwUnavailable);
      const { page, cursor: next } = pageOf('ediciones', rows, limite, ({ number }) => number);
      const meta = {
        origen: registers[registro].title,
        fecha_dato: served?.edition.fechaDato ?? null,
        cursor: next,
      };
      return { data: page.map(shownEdition), meta };
    },

    async descargarCambios({ params: { registro, numero } }, context) {
      const { accountId, contract } = callerOf(context);
      const edition = await requireEdition(registro, numero);
      const type = requireType(context);
      const delta = deltaOf(edition, type, contract !== null);
      const isForEverybody = delta.audience === 'everybody';
      const audit = async () => {
        if (isForEverybody) await auditEdition(context, recordAnswers, edition);
      };
      const etag = `"${tagOf(delta)}"`;
      const modifiedMs = wholeSecondFrom(edition.detectedAt);
      const headers = {
        // A proxy that compressed the answer would change what a range means. Rows of natural persons are never kept.
        'Cache-Control': `${isForEverybody ? 'no-store' : 'private, no-cache'}, no-transform`,
        Vary: 'Authorization, Accept',
        ETag: etag,
        'Last-Modified': new Date(modifiedMs).toUTCString(),
        'Accept-Ranges': 'bytes',
      };
      if (isCurrent(context.req.headers, etag, modifiedMs)) {
        await audit();
        context.set(headers);
        context.status = 304;
        return;
      }
      downloads.take(accountId, context.res);
      if (deltas === null) throw notServed('Este servicio no tiene acceso al archivo de ediciones.', 60);
      const opened = await deltas.open(delta, accountId).catch(throwDelta);
      try {
        const { bytes } = opened;
        const asked = context.method === 'HEAD' ? undefined : context.req.headers.range;
        const isSame = isSameFile(context.req.headers['if-range'] as string | undefined, etag, modifiedMs);
        const range = isSame ? rangeOf(asked, bytes) : 'whole';
        if (range === 'unsatisfiable') throw outsideOf(bytes);
        await audit();
        const sent = range === 'whole' ? { first: 0, last: bytes - 1 } : range;
        if (context.method !== 'HEAD' && bytes > 0) {
          context.body = rangeStream(opened, sent);
        } else {
          context.body = Buffer.alloc(0);
          await opened.file.close();
        }
        context.status = range === 'whole' ? 200 : 206;
        context.set({
          ...headers,
          'Content-Type': type,
          'Content-Disposition': `attachment; filename="${fileNameOf(delta)}"`,
        });
        if (range !== 'whole') context.set('Content-Range', `bytes ${sent.first}-${sent.last}/${bytes}`);
        context.length = sent.last - sent.first + 1;
      } catch (error) {
        await opened.file.close().catch(() => {});
        throw error;
      }
    },
  } satisfies Partial<Handlers>;
}

function shownEdition(edition: ListedEdition) {
  const { register, number } = edition;
  return {
    registro: register,
    numero: number,
    fecha_dato: edition.fechaDato,
    publicado_en: limaTime(edition.publishedAt),
    detectada_en: limaTime(edition.detectedAt),
    cargada_en: limaTime(edition.materialisedAt),
    filas: edition.rows,
    lineas: edition.changes,
    base: edition.baseline,
    altas: edition.inserted,
    cambios: edition.updated,
    bajas: edition.deleted,
    corrige: edition.corrects,
    sha256: edition.publicationSha256,
    cambios_sha256: edition.changeFileSha256,
    enlaces: { cambios: `/id/v1/ediciones/${register}/${number}/cambios` },
  };
}

type DeltaType = (typeof deltaTypes)[number];

/** @throws ApiProblem formato_no_disponible */
function requireType(context: ApiContext): DeltaType {
  const type = context.accepts(...deltaTypes);
  if (type !== false) return type as DeltaType;
  const detail = `Accept no admite ninguno de los dos formatos: ${deltaTypes.join(' y ')}.`;
  throw new ApiProblem('formato_no_disponible', detail);
}

function deltaOf(edition: ListedEdition, type: DeltaType, hasContract: boolean): Delta {
  return {
    register: edition.register,
    edition: edition.number,
    sha256: edition.changeFileSha256,
    changes: edition.changes,
    fechaDato: edition.fechaDato,
    form: type === deltaTypes[0] ? 'ndjson' : 'parquet',
    audience: hasContract ? 'everybody' : 'companies',
  };
}

/** Names of one register's files sort by edition. */
function fileNameOf({ register, edition, fechaDato, form }: Delta & { register: RegisterName }): string {
  return `${register}-${String(edition).padStart(6, '0')}-${fechaDato}.${form}`;
}

function outsideOf(bytes: number): ApiProblem {
  const detail = `El archivo tiene ${bytes} bytes y Range pide otros.`;
  return new ApiProblem('rango_no_satisfacible', detail, {}, { 'Content-Range': `bytes */${bytes}` });
}

function throwDelta(error: unknown): never {
  if (!(error instanceof DeltaError)) throw error;
  const { code, retryAfterSeconds } = error;
  if (code === 'failed')
    throw notServed('El archivo de esta edición no se puede leer en este momento.', retryAfterSeconds);
  throw new ApiProblem(
    'edicion_en_preparacion',
    `El archivo se está preparando, o espera su turno. Vuelva a pedirlo en ${retryAfterSeconds} segundos.`,
    {},
    { 'Retry-After': String(retryAfterSeconds) },
  );
}

function notServed(detail: string, seconds: number): ApiProblem {
  return new ApiProblem('servicio_no_disponible', detail, {}, { 'Retry-After': String(seconds) });
}
