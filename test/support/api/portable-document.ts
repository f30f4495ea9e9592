import type { makeDocument } from '../../../api/openapi/document.ts';

/*
 * Finds in an OpenAPI document what programs that generate clients are known to stumble over. The rules say what is
 * allowed, so that a keyword that zod starts to write is a finding too.
 */

type Document = ReturnType<typeof makeDocument>;
type Schema = Record<string, unknown>;

const keywords = new Set(
  [
    '$ref type enum format default description example oneOf',
    'pattern minLength maxLength minimum maximum minItems maxItems',
    'properties required additionalProperties items',
  ].flatMap((line) => line.split(' ')),
);
const formats = new Set(['date', 'date-time', 'uuid', 'int64', 'binary']);
const types = new Set(['string', 'integer', 'number', 'boolean', 'array', 'object']);
const int32 = 2 ** 31 - 1;

/**
 * Texts that the regular expressions of JavaScript, Python, Java, .NET, PHP and Go read alike. `^` and `$` are
 * necessary, because some languages search for a match and others match the whole text. A `[` in a class begins another
 * class in Java, and `(?` is only allowed for a group. Go repeats at most 1,000 times.
 */
const plainPattern =
  /^\^(?:[^\\[\](){}^$]|\\(?:d|x[0-9A-F]{2}|[.\\/"+*?|-])|\((?:\?:)?(?!\?)|\)|\{\d{1,3}(?:,\d{1,3})?\}|\[\^?(?:[^\\[\]&]|\\(?:d|x[0-9A-F]{2}|[\\/"-]))+\])*\$$/;

const schemaName = /^[A-Z][A-Za-z0-9]*$/;
const propertyName = /^[a-z][a-z0-9_]*$/;
const parameterName = /^[A-Za-z][A-Za-z0-9_-]*$/;

/** Returns `place: fault` for each finding. */
export function portabilityFaults(document: Document): string[] {
  const { info, paths = {}, components = {}, tags = [] } = document;
  return [
    ...(isAscii(info.title) ? [] : ['info.title: generators make names from it, so it must be ASCII']),
    ...tags.flatMap(({ name }) => (schemaName.test(name) ? [] : [`tag ${name}: is no identifier`])),
    ...operationFaults(paths),
    ...clashes('components.schemas', Object.keys(components.schemas ?? {})),
    ...Object.keys(components.schemas ?? {}).flatMap((name) =>
      schemaName.test(name) ? [] : [`components.schemas.${name}: is no identifier`],
    ),
    ...schemasIn(document, '').flatMap(([at, schema]) => schemaFaults(at, schema)),
    ...refsIn(document).flatMap((ref) => (isThere(document, ref) ? [] : [`${ref}: is not in the document`])),
  ];
}

function operationFaults(paths: NonNullable<Document['paths']>): string[] {
  const all = Object.entries(paths).flatMap(([path, item]) =>
    [item.get, item.post, item.patch, item.delete].flatMap((operation) => (operation ? [{ path, operation }] : [])),
  );
  const ids = all.map(({ operation }) => operation.operationId ?? '');
  const named = all.flatMap(({ path, operation: { operationId, parameters = [] } }) => {
    const names = parameters.map((parameter) => ('name' in parameter ? parameter.name : ''));
    const at = operationId ?? path;
    return [
      ...(/^[a-z][A-Za-z0-9]*$/.test(operationId ?? '') ? [] : [`${path}: has no operationId that is an identifier`]),
      ...names.flatMap((name) => (parameterName.test(name) ? [] : [`${at}: the parameter ${name} is no identifier`])),
      ...clashes(at, names),
    ];
  });
  return [...clashes('operationId', ids), ...named];
}

/** Names that differ only in case or in signs become the same identifier in one language or another. */
function clashes(at: string, names: readonly string[]): string[] {
  const plain = names.map((name) => name.toLowerCase().replace(/[^a-z0-9]/g, ''));
  return names.filter((_, index) => plain.indexOf(plain[index]!) !== index).map((name) => `${at}: ${name} clashes`);
}

function schemasIn(part: unknown, at: string): [at: string, Schema][] {
  if (typeof part !== 'object' || part === null) return [];
  return Object.entries(part).flatMap(([key, value]) => {
    const place = `${at}/${key}`;
    if (key === 'example') return [];
    if (key === 'schema') return [[place, value as Schema] as [string, Schema]];
    if (key === 'schemas')
      return Object.entries(value as Record<string, Schema>).map<[string, Schema]>((entry) => [
        `${place}/${entry[0]}`,
        entry[1],
      ]);
    return schemasIn(value, place);
  });
}

export function schemaFaults(at: string, schema: Schema, isInChoice = false): string[] {
  const {
    properties = {},
    items,
    additionalProperties,
    oneOf = [],
  } = schema as {
    properties?: Record<string, Schema>;
    items?: Schema;
    additionalProperties?: Schema | boolean;
    oneOf?: Schema[];
  };
  return [
    ...Object.keys(schema).flatMap((keyword) => (keywords.has(keyword) ? [] : [`${keyword} is not read everywhere`])),
    ...typeFaults(schema, isInChoice),
    ...textFaults(schema),
    ...numberFaults(schema),
    ...choiceFaults(schema, oneOf),
    ...(typeof schema.default === 'object' ? ['a default that is a list'] : []),
    ...((schema.required ?? []) as string[]).flatMap((name) =>
      name in properties ? [] : [`${name} is required and no property`],
    ),
    ...Object.keys(properties).flatMap((name) => (propertyName.test(name) ? [] : [`${name} is no identifier`])),
    ...clashes('properties', Object.keys(properties)),
  ]
    .map((fault) => `${at}: ${fault}`)
    .concat(
      Object.entries(properties).flatMap(([name, property]) => schemaFaults(`${at}/${name}`, property)),
      items ? schemaFaults(`${at}/[]`, items) : [],
      typeof additionalProperties === 'object' ? schemaFaults(`${at}/{}`, additionalProperties) : [],
      oneOf.flatMap((form, index) => schemaFaults(`${at}/oneOf/${index}`, form, true)),
    );
}

function typeFaults({ $ref, type, enum: values, oneOf }: Schema, isInChoice: boolean): string[] {
  const faults: string[] = [];
  if (Array.isArray(type) && !(type.length === 2 && types.has(type[0]) && type[1] === 'null'))
    faults.push(`a list of the types ${type.join(', ')}`);
  if (typeof type === 'string' && !types.has(type) && !(type === 'null' && isInChoice)) faults.push(`only ${type}`);
  if (type === undefined && $ref === undefined && oneOf === undefined) faults.push('has no type');
  if (values === undefined) return faults;
  const list = values as unknown[];
  if (type !== 'string' && type !== 'integer') faults.push(`values of the type ${String(type)}`);
  if (list.some((value) => typeof value !== 'string' && !Number.isInteger(value))) faults.push('values of other types');
  return [...faults, ...clashes('values', list.map(String))];
}

function textFaults({ format, pattern }: Schema): string[] {
  return [
    ...(format === undefined || formats.has(format as string) ? [] : [`the format ${format}`]),
    ...(pattern === undefined || plainPattern.test(pattern as string) ? [] : [`the pattern ${pattern}`]),
    ...(pattern !== undefined && format !== undefined ? ['a pattern beside a format'] : []),
  ];
}

function numberFaults({ type, format, minimum = 0, maximum = int32, enum: values }: Schema): string[] {
  const isInteger = [type].flat().includes('integer');
  if (!isInteger || values !== undefined) return [];
  const isWide = format === 'int64';
  const tooWide = Math.max(Math.abs(minimum as number), Math.abs(maximum as number)) > int32;
  return tooWide
    ? ['a limit that 32 bits do not hold']
    : isWide || maximum !== int32
      ? []
      : ['no upper limit, and no int64'];
}

function choiceFaults({ oneOf, default: preset }: Schema, forms: readonly Schema[]): string[] {
  if (oneOf === undefined) return [];
  const kinds = forms.map(({ $ref, type }) => ($ref ?? type) as string);
  return [
    ...(forms.length < 2 ? ['a choice of one'] : []),
    ...(preset === undefined ? [] : ['a default beside a choice']),
    ...(new Set(kinds).size < kinds.length ? [`a choice between forms of one type: ${kinds.join(', ')}`] : []),
  ];
}

function refsIn(part: unknown): string[] {
  if (typeof part !== 'object' || part === null) return [];
  return Object.entries(part).flatMap(([key, value]) => (key === '$ref' ? [value as string] : refsIn(value)));
}

function isThere(document: Document, ref: string): boolean {
  let part: unknown = document;
  for (const key of ref.replace('#/', '').split('/')) part = (part as Record<string, unknown> | undefined)?.[key];
  return part !== undefined;
}

function isAscii(text: string): boolean {
  return /^[ -~]*$/.test(text);
}
