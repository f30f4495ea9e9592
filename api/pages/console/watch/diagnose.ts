import { createHmac, timingSafeEqual } from 'node:crypto';
import { type BodyChange, changedBody, originalBodies } from './changed-body.ts';

// Finds out why a signature of a delivery does not verify. Nothing here is stored, and nothing is sent anywhere.

/** What the service knows about the delivery that the headers name. */
export interface KnownDelivery {
  /** The body as it was signed and sent. */
  body: string;
  /** When its attempts began, in seconds since 1970. */
  attempts: readonly number[];
}

export interface Question {
  /** Headers as somebody copied them, one in each line. */
  headers: string;
  body: string;
  /** The secret in the receiver's settings. */
  secret: string;
  /** The signature that the receiver's own code made, if it is known. */
  computed: string | null;
  /** Null: the account has no delivery with the id in the headers. Undefined: it was not looked for. */
  known: KnownDelivery | null | undefined;
  nowSeconds: number;
}

/** A part of what is signed, and whether it is as it should be. */
export interface Finding {
  part: 'id' | 'momento' | 'cuerpo' | 'firma' | 'secreto' | 'cálculo';
  state: 'good' | 'warn' | 'bad';
  text: string;
}

/** Difference of clocks that receivers accept, as the documentation recommends. */
const toleranceSeconds = 300;
/** An attempt is signed shortly after its row is written. */
const attemptSeconds = 60;

/** Returns what is found about each part, in the order in which a person should look at them. */
export function diagnose(question: Question): Finding[] {
  const { body, secret, computed, known } = question;
  const headers = readHeaders(question.headers);
  const id = headerIn(headers, 'x-service-delivery', 'webhook-id');
  const time = headerIn(headers, 'x-service-timestamp', 'webhook-timestamp');
  const signature = headerIn(headers, 'x-service-signature', 'webhook-signature');
  const findings = [
    idFinding(id, known),
    timeFinding(time, known, question.nowSeconds),
    ...signatureFindings(signature),
    ...secretFindings(secret),
  ];
  const key = keyOf(secret);
  const given = signaturesIn(signature ?? '');
  if (id === null || time === null || key === null || given.length === 0) return findings;
  const prefix = `${id}.${time}.`;
  const isSigned = (text: string) => given.some((one) => isEqual(one, hmac(key, prefix + text)));
  findings.push(...(isSigned(body) ? signed : unsigned({ body, known, isSigned })));
  if (computed !== null) findings.push(computedFinding(computed, { id, time, body, secret, key }));
  return findings;
}

const signed: Finding[] = [
  { part: 'cuerpo', state: 'good', text: 'Es el que se firmó, byte por byte.' },
  { part: 'firma', state: 'good', text: 'La firma es de este secreto, este id, este momento y este cuerpo.' },
];

/** Says what is wrong when the signature is not of this body with this secret. */
function unsigned({
  body,
  known,
  isSigned,
}: Pick<Question, 'body' | 'known'> & { isSigned(text: string): boolean }): Finding[] {
  if (known) {
    if (isSigned(known.body)) return [bodyFinding(changedBody(known.body, body))];
    const change = known.body === body ? null : bodyFinding(changedBody(known.body, body));
    const secret: Finding = {
      part: 'secreto',
      state: 'bad',
      text: 'No es el que firmó: tampoco firma el cuerpo que enviamos. Puede ser el de otro webhook, o uno anterior a un cambio.',
    };
    return change === null
      ? [{ part: 'cuerpo', state: 'good', text: 'Es el que enviamos.' }, secret]
      : [secret, change];
  }
  const original = originalBodies(body).find(({ text }) => isSigned(text));
  if (original !== undefined) return [bodyFinding(original.change)];
  return [
    {
      part: 'firma',
      state: 'bad',
      text: 'La firma no es de este secreto con este id, momento y cuerpo. Sin la entrega en su cuenta no se puede saber cuál de ellos cambió; revise primero el secreto.',
    },
  ];
}

const changeTexts: Readonly<Record<BodyChange, string>> = {
  none: 'Es el que enviamos.',
  parsed_again:
    'Se leyó como JSON y se volvió a escribir: cambió el orden, los espacios o los escapes. Use los bytes de la petición antes de que una librería (como express.json) los lea.',
  ends_differ: 'Tiene espacios o un salto de línea de más, o de menos, al principio o al final.',
  byte_order_mark: 'Tiene delante una marca de orden de bytes (BOM).',
  wrong_charset: 'Se leyó con otra codificación: las tildes y la ñ cambiaron. Es UTF-8.',
  line_ends: 'Cambiaron los saltos de línea.',
  json_in_text: 'Está dentro de un texto JSON: se escribió dos veces como JSON.',
  url_encoded: 'Está codificado como una dirección o un formulario.',
  html_escaped: 'Se escaparon signos de HTML, como &quot;.',
  cut: 'Está cortado: falta el final.',
  object_text: 'Es el texto de un objeto del programa, no el cuerpo: se convirtió a texto después de leerlo.',
  empty: 'Está vacío: otra parte del programa ya lo había leído.',
  other: 'No es el que enviamos, o es el de otra entrega.',
};

function bodyFinding(change: BodyChange): Finding {
  return { part: 'cuerpo', state: change === 'none' ? 'good' : 'bad', text: changeTexts[change] };
}

function idFinding(id: string | null, known: Question['known']): Finding {
  const part = 'id';
  if (id === null) return { part, state: 'bad', text: 'Falta la cabecera X-Service-Delivery (o webhook-id).' };
  if (known === null)
    return { part, state: 'warn', text: 'No es de una entrega de su cuenta, o esa entrega ya no se conserva.' };
  return { part, state: 'good', text: known === undefined ? 'Está.' : 'Es de una entrega de su cuenta.' };
}

function timeFinding(time: string | null, known: Question['known'], nowSeconds: number): Finding {
  const part = 'momento';
  if (time === null)
    return { part, state: 'bad', text: 'Falta la cabecera X-Service-Timestamp (o webhook-timestamp).' };
  if (/^\d{13}$/.test(time))
    return {
      part,
      state: 'bad',
      text: 'Está en milisegundos. La cabecera trae segundos, que se firman tal como vienen.',
    };
  if (!/^\d{1,12}$/.test(time))
    return { part, state: 'bad', text: 'No son segundos desde 1970. Use el texto de la cabecera sin convertirlo.' };
  const seconds = Number(time);
  if (known && !known.attempts.some((at) => Math.abs(at - seconds) <= attemptSeconds))
    return {
      part,
      state: 'bad',
      text: 'Ningún intento de esta entrega salió en ese momento: no es el de la cabecera.',
    };
  if (seconds > nowSeconds + toleranceSeconds)
    return { part, state: 'bad', text: 'Está en el futuro: el reloj de quien lo escribió está adelantado.' };
  if (seconds < nowSeconds - toleranceSeconds)
    return {
      part,
      state: 'warn',
      text: 'Tiene más de cinco minutos. Es normal al revisarlo aquí; si su servidor lo rechazó por eso al recibirlo, revise su reloj.',
    };
  return { part, state: 'good', text: 'Está dentro de los cinco minutos.' };
}

function signatureFindings(signature: string | null): Finding[] {
  const bad = (text: string): Finding[] => [{ part: 'firma', state: 'bad', text }];
  if (signature === null) return bad('Falta la cabecera X-Service-Signature (o webhook-signature).');
  if (signaturesIn(signature).length > 0) return [];
  if (/[0-9a-f]{64}/i.test(signature)) return bad('Está en hexadecimal. La cabecera trae v1, y base64.');
  if (!signature.includes('v1,')) return bad('No tiene ninguna parte que empiece con v1, (versión, coma y base64).');
  return bad('Lo que sigue a v1, no es el base64 de 32 bytes: está cortado, o un + se volvió espacio.');
}

function secretFindings(secret: string): Finding[] {
  const bad = (text: string): Finding[] => [{ part: 'secreto', state: 'bad', text }];
  if (secret === '') return bad('Falta.');
  if (keyOf(secret) !== null) return [];
  const bare = secret.replace(/\s/g, '').replace(/^["']+|["']+$/g, '');
  if (bare !== secret && keyOf(bare) !== null) return bad('Tiene espacios, un salto de línea o comillas de más.');
  if (keyOf(`whsec_${bare}`) !== null) return bad('Le falta whsec_ al principio.');
  if (bare.startsWith('pad_live_')) return bad('Es un token de la API. El secreto del webhook empieza con whsec_.');
  return bad('No tiene la forma de un secreto: whsec_ y el base64 de 32 bytes. Puede estar cortado.');
}

interface Signed {
  id: string;
  time: string;
  body: string;
  secret: string;
  key: Buffer;
}

/** Finds the way in which a receiver's code made a signature, among the usual mistakes. */
function computedFinding(computed: string, { id, time, body, secret, key }: Signed): Finding {
  const part = 'cálculo';
  const text = computed.trim().replace(/^v1,/, '');
  const contents = [
    ['{id}.{momento}.{cuerpo}', `${id}.${time}.${body}`],
    ['solo el cuerpo', body],
    ['{momento}.{cuerpo}, sin el id', `${time}.${body}`],
    ['{id}.{cuerpo}, sin el momento', `${id}.${body}`],
    ['{momento}.{id}.{cuerpo}, en otro orden', `${time}.${id}.${body}`],
    ['id, momento y cuerpo sin los puntos', `${id}${time}${body}`],
  ] as const;
  const base64 = secret.replace(/^whsec_/, '');
  const keys = [
    ['', key],
    ['la clave debe ser los 32 bytes del base64, y se usó el texto después de whsec_', Buffer.from(base64)],
    ['la clave debe ser los 32 bytes del base64, y se usó el secreto entero como texto', Buffer.from(secret)],
  ] as const;
  for (const [keyText, each] of keys)
    for (const [contentText, content] of contents)
      for (const [formText, made] of formsOf(hmac(each, content)))
        if (made === text) {
          const wrong = [
            content === contents[0][1] ? '' : `se firmó ${contentText}, y es {id}.{momento}.{cuerpo}`,
            keyText,
            formText,
          ].filter((one) => one !== '');
          if (wrong.length === 0) return { part, state: 'good', text: 'Su código calcula la firma como debe.' };
          return { part, state: 'bad', text: `Su código: ${wrong.join('; ')}.` };
        }
  return {
    part,
    state: 'bad',
    text: 'No se reconoce cómo se calculó. Es base64(HMAC-SHA256(clave, {id}.{momento}.{cuerpo})).',
  };
}

function formsOf(digest: Buffer): [string, string][] {
  const hex = digest.toString('hex');
  return [
    ['', digest.toString('base64')],
    ['el resultado está en hexadecimal, y debe estar en base64', hex],
    ['el base64 es del texto hexadecimal, y debe ser de los bytes', Buffer.from(hex).toString('base64')],
    ['el base64 es el de direcciones (con - y _), y debe ser el común', digest.toString('base64url')],
  ];
}

function headerIn(headers: readonly NamedHeader[], ...names: readonly string[]): string | null {
  const found = names.map((name) => headers.find((header) => header.name === name)).find((one) => one !== undefined);
  return found === undefined || found.value === '' ? null : found.value;
}

/** Returns the signatures of version 1 with the right length. */
function signaturesIn(text: string): Buffer[] {
  return text
    .split(' ')
    .filter((part) => /^v1,[A-Za-z0-9+/]{43}=$/.test(part))
    .map((part) => Buffer.from(part.slice(3), 'base64'));
}

function keyOf(secret: string): Buffer | null {
  return /^whsec_[A-Za-z0-9+/]{43}=$/.test(secret) ? Buffer.from(secret.slice('whsec_'.length), 'base64') : null;
}

function hmac(key: Buffer, content: string): Buffer {
  return createHmac('sha256', key).update(content).digest();
}

function isEqual(one: Buffer, other: Buffer): boolean {
  return one.length === other.length && timingSafeEqual(one, other);
}

export interface NamedHeader {
  /** In lower case, with hyphens. */
  name: string;
  value: string;
}

/**
 * Reads headers as people copy them: from a log, a debugger, curl or PHP's $_SERVER. It reads one from each line: `Name: value`, `"name": "value",` as in JSON, `-H 'Name: value'` as for curl,
 * `HTTP_X_NAME => value` as in PHP. Lines that are none of these are left out.
 */
export function readHeaders(text: string): NamedHeader[] {
  return text.split(/\r\n|\r|\n/).flatMap((line) => {
    const bare = line
      .trim()
      .replace(/^(-H|--header)\s+/, '')
      .replace(/\s*\\$/, '');
    const match = /^["'[{\s]*([A-Za-z][A-Za-z0-9_-]*)["'\]]*\s*(?:=>|:|=)\s*(.*)$/.exec(bare);
    if (match === null) return [];
    const name = match[1]!
      .toLowerCase()
      .replaceAll('_', '-')
      .replace(/^http-/, '');
    const value = match[2]!
      .trim()
      .replace(/[,;}]+$/, '')
      .trim()
      .replace(/^[["']+|[\]"']+$/g, '');
    return [{ name, value: value.trim() }];
  });
}
