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
  // In several languages, the code for a boolean with a single value does not compile.
  if (constant !== undefined && typeof constant !== 'boolean') schema.enum = [constant];
  if (typeof constant === 'number' && Number.isInteger(constant)) schema.type = 'integer';
  // For a map with known keys, `required` lists keys that are in no `properties`.
  if (propertyNames !== undefined && schema.properties === undefined) delete schema.required;
  // Typed as a list of texts, which is no list of the values that the client knows.
  if (Array.isArray(schema.default)) delete schema.default;
  const isInteger = [schema.type].flat().includes('integer');
  // A client reads a text with a format as a date or an id of its language, which a pattern for the text does not fit.
  return { ...(isInteger ? integer(schema) : schema), ...(schema.format === undefined && pattern && { pattern }) };
}

/** zod writes the limits of exact numbers in JavaScript. Other languages take 32 bits unless the format says 64. */
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
  // Beside alternatives, clients would assign the default's text to a class.
  const isPresetKept = joined.oneOf === undefined && preset !== undefined;
  return { ...schema, ...joined, ...(isPresetKept ? { default: preset } : {}) };
}

/** Joins the forms of each type into one, because clients recognise a form by its type. */
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

/** Takes apart what is already joined, so that null is found wherever it stands. */
function formsOf({ oneOf, ...schema }: Schema): Schema[] {
  if (oneOf !== undefined) return oneOf.flatMap(formsOf);
  if (!Array.isArray(schema.type)) return [schema];
  return schema.type.map((type) => (type === 'null' ? { type } : { ...schema, type }));
}

/** A list of values gets no null, which some generators would write as a text. */
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

/** Makes one object with the properties of all. Those that every object requires are required. */
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
