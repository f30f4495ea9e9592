/*
 * Rewrites the schemas of the OpenAPI document for programs that generate clients. zod writes JSON Schema of 2020,
 * which those programs read only in part: some stop, others generate code that does not compile or that refuses the
 * service's own answers. A rewritten schema accepts everything that the original accepts, and sometimes more. Requests
 * are still checked with the original.
 */

/** A JSON Schema with the keywords that are read here. All other keywords are kept as they are. */
export interface Schema {
  $ref?: string;
  type?: string | string[];
  enum?: unknown[];
  const?: unknown;
  default?: unknown;
  format?: string;
  pattern?: string;
  minimum?: number;
  maximum?: number;
  properties?: Record<string, Schema>;
  propertyNames?: unknown;
  required?: string[];
  additionalProperties?: Schema | boolean;
  items?: Schema;
  anyOf?: Schema[];
  oneOf?: Schema[];
}

/**
 * Returns a copy of a document, or of a part of it, in which every schema is portable. Schemas are the values of the
 * keys `schema` and `schemas`. Examples are copied as they are.
 */
export function withPortableSchemas<Part>(part: Part): Part {
  if (Array.isArray(part)) return part.map(withPortableSchemas) as Part;
  if (typeof part !== 'object' || part === null) return part;
  const entries = Object.entries(part).map(([key, value]) => {
    if (key === 'schema') return [key, portableSchema(value)];
    if (key === 'schemas') return [key, eachOf(value)];
    return [key, key === 'example' ? value : withPortableSchemas(value)];
  });
  return Object.fromEntries(entries) as Part;
}

export function portableSchema(original: Schema): Schema {
  const { anyOf, oneOf = anyOf, properties, items, additionalProperties: others, ...schema } = original;
  const whole: Schema = {
    ...schema,
    ...(properties && { properties: eachOf(properties) }),
    ...(items && { items: portableSchema(items) }),
    ...(others !== undefined && { additionalProperties: typeof others === 'object' ? portableSchema(others) : others }),
  };
  if (oneOf !== undefined) return choice(whole, oneOf.map(portableSchema));
  const types = [whole.type ?? []].flat();
  return types.filter((type) => type !== 'null').length > 1 ? choice(whole, typed(types)) : single(whole);
}

function eachOf(schemas: Record<string, Schema>): Record<string, Schema> {
  return Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, portableSchema(schema)]));
}

const typed = (types: readonly string[]): Schema[] => types.map((type) => ({ type }));

/** Rewrites a schema that has no alternatives. */
function single({ const: constant, propertyNames, pattern, ...schema }: Schema): Schema {
  // In several languages, the code that a generator makes for a boolean with a single value does not compile.
  if (constant !== undefined && typeof constant !== 'boolean') schema.enum = [constant];
  if (typeof constant === 'number' && Number.isInteger(constant)) schema.type = 'integer';
  // zod lists the keys of a map with known keys in `required` but not in `properties`. Such a `required` is removed.
  if (propertyNames !== undefined && schema.properties === undefined) delete schema.required;
  // A default that is a list is left out. Clients would type it as a list of texts, but their field is a list of the
  // values of an enum.
  if (Array.isArray(schema.default)) delete schema.default;
  const isInteger = [schema.type].flat().includes('integer');
  // For a text with a `format`, a generated client uses a date or id type of its language. A `pattern` is for texts and
  // does not fit such a type, so it is left out beside a format.
  return { ...(isInteger ? integer(schema) : schema), ...(schema.format === undefined && pattern && { pattern }) };
}

/**
 * Rewrites an integer's schema. Where we set no limit, zod writes JavaScript's largest exact integer, and this limit is
 * removed. Clients of other languages take 32 bits for an integer unless its format is `int64`.
 */
function integer({ minimum, maximum, ...schema }: Schema): Schema {
  const isBounded = maximum !== undefined && maximum !== Number.MAX_SAFE_INTEGER;
  return {
    ...schema,
    ...(isBounded || schema.enum ? {} : { format: 'int64' }),
    ...(minimum === undefined || minimum === Number.MIN_SAFE_INTEGER ? {} : { minimum }),
    ...(isBounded ? { maximum } : {}),
  };
}

/** Makes the schema of a value that has one of several forms. */
function choice({ type, default: preset, ...schema }: Schema, forms: readonly Schema[]): Schema {
  const joined = join(forms);
  // A default beside `oneOf` is left out. Some generators make a class of the alternatives, and would assign the
  // default, which is a plain text, to a variable of this class.
  const isPresetKept = joined.oneOf === undefined && preset !== undefined;
  return { ...schema, ...joined, ...(isPresetKept ? { default: preset } : {}) };
}

/** Joins alternatives of one type, because a generated client recognises an alternative only by its type. */
function join(options: readonly Schema[]): Schema {
  const forms = options.flatMap(formsOf);
  const kindOf = ({ $ref, type }: Schema) => $ref ?? type;
  const kinds = new Set(forms.map(kindOf).filter((kind) => kind !== 'null'));
  const [only, ...others] = [...kinds].map((kind) => oneForm(forms.filter((form) => kindOf(form) === kind)));
  const end: Schema[] = forms.some(({ type }) => type === 'null') ? [{ type: 'null' }] : [];
  if (only === undefined) return { type: 'null' };
  if (others.length > 0) return { oneOf: [only, ...others, ...end] };
  return end.length > 0 ? nullable(only) : only;
}

/**
 * Returns the members of a `oneOf`, and each type of a list of types, as schemas of their own. So `join` finds every
 * null.
 */
function formsOf({ oneOf, ...schema }: Schema): Schema[] {
  if (oneOf !== undefined) return oneOf.flatMap(formsOf);
  if (!Array.isArray(schema.type)) return [schema];
  return schema.type.map((type) => (type === 'null' ? { type } : { ...schema, type }));
}

/**
 * Makes a schema that also allows null. For an `enum` (a list of values), null becomes an alternative beside the list.
 * Some generators would write a null inside the list as a text.
 */
function nullable(schema: Schema): Schema {
  if (schema.enum !== undefined || typeof schema.type !== 'string') return { oneOf: [schema, { type: 'null' }] };
  return { ...schema, type: [schema.type, 'null'] };
}

function oneForm(forms: readonly Schema[]): Schema {
  const [first, ...others] = forms as [Schema, ...Schema[]];
  const text = JSON.stringify(first);
  const type = first.type!;
  if (others.every((other) => JSON.stringify(other) === text)) return first;
  if (type === 'object') return oneObject(forms);
  if (type === 'array') return { type, items: join(forms.flatMap(({ items }) => items ?? [])) };
  const values = forms.map((form) => form.enum);
  return values.includes(undefined) ? { type } : { type, enum: [...new Set(values.flat())] };
}

/** Makes one object schema with the properties of all `objects`. A property is required if every object requires it. */
function oneObject(objects: readonly Schema[]): Schema {
  const names = [...new Set(objects.flatMap(({ properties = {} }) => Object.keys(properties)))];
  const properties = names.map((name) => [name, join(objects.flatMap((object) => object.properties?.[name] ?? []))]);
  const required = names.filter((name) => objects.every((object) => object.required?.includes(name)));
  const isClosed = objects.every(({ additionalProperties }) => additionalProperties === false);
  return {
    type: 'object',
    properties: Object.fromEntries(properties) as Record<string, Schema>,
    ...(required.length > 0 && { required }),
    ...(isClosed && { additionalProperties: false }),
  };
}
