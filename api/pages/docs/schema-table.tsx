import { Marked, Table } from '../parts.tsx';
import type { Schema } from './described.ts';

// A schema as a table with a line per field, such as `data.ruc`.

export interface Field {
  path: string;
  type: string;
  isRequired: boolean;
  description: string;
}

type Schemas = Readonly<Record<string, Schema>>;

/** Returns the fields of an object in their order, those of objects inside it after it. */
export function fieldsOf(schema: Schema, schemas: Schemas, prefix = ''): Field[] {
  const { properties = {}, required = [] } = resolved(schema, schemas);
  return Object.entries(properties).flatMap(([name, property]) => {
    const own = resolved(property, schemas);
    const path = `${prefix}${name}`;
    const line = {
      path,
      type: typeOf(own, schemas),
      isRequired: required.includes(name),
      description: property.description ?? own.description ?? '',
    };
    const inner = innerObject(own, schemas);
    if (inner === null) return [line];
    return [line, ...fieldsOf(inner.schema, schemas, `${path}${inner.isList ? '[]' : ''}.`)];
  });
}

function resolved(schema: Schema, schemas: Schemas): Schema {
  const name = schema.$ref?.split('/').at(-1);
  return name === undefined ? schema : (schemas[name] ?? schema);
}

/** The object that a field holds, or a list of which it holds. */
function innerObject(schema: Schema, schemas: Schemas): { schema: Schema; isList: boolean } | null {
  if (schema.properties !== undefined) return { schema, isList: false };
  if (schema.items !== undefined) {
    const item = resolved(schema.items, schemas);
    return item.properties === undefined ? null : { schema: item, isList: true };
  }
  // An object or null.
  const one = (schema.oneOf ?? schema.anyOf ?? [])
    .map((each) => resolved(each, schemas))
    .find((each) => each.properties);
  return one === undefined ? null : { schema: one, isList: false };
}

const names: Readonly<Record<string, string>> = {
  string: 'texto',
  integer: 'entero',
  number: 'número',
  boolean: 'true o false',
  object: 'objeto',
  null: 'null',
};
const formats: Readonly<Record<string, string>> = {
  date: 'fecha AAAA-MM-DD',
  'date-time': 'fecha y hora',
  uuid: 'UUID',
  uri: 'dirección',
};

/** Says in Spanish what a value may be. */
export function typeOf(schema: Schema, schemas: Schemas): string {
  const own = resolved(schema, schemas);
  const alternatives = own.oneOf ?? own.anyOf;
  if (alternatives !== undefined) return unique(alternatives.map((each) => typeOf(each, schemas))).join(' o ');
  if (own.enum !== undefined) return own.enum.map((value) => `\`${String(value)}\``).join(', ');
  if (own.const !== undefined) return `\`${String(own.const)}\``;
  const types = typeof own.type === 'string' ? [own.type] : (own.type ?? []);
  if (types.length === 0) return own.properties === undefined ? 'cualquiera' : names.object!;
  return types.map((type) => oneType(type, own, schemas)).join(' o ');
}

function oneType(type: string, schema: Schema, schemas: Schemas): string {
  if (type === 'array')
    return `lista de ${schema.items === undefined ? 'valores' : plural(typeOf(schema.items, schemas))}`;
  if (type === 'string' && schema.format !== undefined) return formats[schema.format] ?? names.string!;
  return `${names[type] ?? type}${type === 'null' ? '' : limitsOf(type, schema)}`;
}

/** `textos`, but texts in code stay. */
function plural(type: string): string {
  return type.replace(/^(texto|entero|objeto)\b/, '$1s').replace(/^fecha\b/, 'fechas');
}

function limitsOf(type: string, { minimum, maximum, maxLength, enum: values }: Schema): string {
  if (values !== undefined) return '';
  if (type === 'string') return maxLength === undefined ? '' : ` de hasta ${maxLength} caracteres`;
  // The largest numbers that JSON carries exactly are no limit of ours.
  const [low, high] = [minimum, maximum].map((each) => (each === undefined || Math.abs(each) > 2 ** 50 ? null : each));
  if (low != null && high != null) return ` de ${low} a ${high}`;
  return low != null ? ` desde ${low}` : '';
}

function unique(texts: readonly string[]): string[] {
  return [...new Set(texts)];
}

const columns = [{ name: 'Campo' }, { name: 'Tipo' }, { name: 'Qué es' }];

/** @param showsRequired whether each line says if the field must be given. An answer has all its fields. */
export function FieldTable({ label, fields, showsRequired }: FieldTableProps) {
  const isDescribed = fields.some(({ description }) => description !== '');
  return (
    <Table label={label} columns={isDescribed ? columns : columns.slice(0, 2)} stacked>
      {fields.map(({ path, type, isRequired, description }) => (
        <tr key={path}>
          <td class="first">
            <code>{path}</code> {showsRequired && isRequired && <span class="badge">obligatorio</span>}
          </td>
          <td class="wraps">
            <Marked text={type} />
          </td>
          {isDescribed && (
            <td class="wraps">
              <Marked text={description} />
            </td>
          )}
        </tr>
      ))}
    </Table>
  );
}

interface FieldTableProps {
  label: string;
  fields: readonly Field[];
  showsRequired: boolean;
}
