import { ApiProblem } from './problems.ts';

/** Cursors are opaque to the caller: the kind of list and the key of the last entry, so that one cannot serve another list. */
export type CursorKind = 'eventos' | 'listas' | 'miembros' | 'historial' | 'buscar' | 'entregas' | 'avisos';

const keyForms: Readonly<Record<CursorKind, RegExp>> = {
  eventos: /^[0-9]{1,15}$/,
  listas: /^[0-9]{1,15}$/,
  miembros: /^[0-9]{11}$/,
  avisos: /^[0-9]{1,15}$/,
  /** Microseconds at which the last one was made, and its id. */
  entregas: /^[0-9]{1,17}\.[A-Za-z0-9_-]{1,64}$/,
  /** Of the last entry: day, register's code, edition and place among the change's entries. */
  historial: /^\d{4}-\d{2}-\d{2}\.[0-9]{1,3}\.[0-9]{1,15}\.[0-9]{1,3}$/,
  /** api/search/rank.ts: edition, hits given, the last one's rank, and a seal of these and the question. */
  buscar: /^(?:[0-9]{1,15}\.){6}[0-9]{11}\.[0-9a-f]{32}$/,
};

export function writeCursor(kind: CursorKind, key: string | number): string {
  return Buffer.from(`${kind}:${key}`).toString('base64url');
}

/** @throws ApiProblem parametro_invalido when it is none of ours */
export function readCursor(kind: CursorKind, cursor: string | undefined, start: string): string {
  if (cursor === undefined) return start;
  const [name, key] = Buffer.from(cursor, 'base64url').toString().split(':');
  if (name === kind && key !== undefined && keyForms[kind].test(key) && writeCursor(kind, key) === cursor) return key;
  throw notOfThisList();
}

export function notOfThisList(): ApiProblem {
  const mensaje = 'no es un cursor de esta lista';
  return new ApiProblem('parametro_invalido', `cursor: ${mensaje}.`, { errors: [{ campo: 'cursor', mensaje }] });
}
