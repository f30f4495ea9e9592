import { makeDocument } from '../../openapi/document.ts';
import { readExamples } from '../../openapi/texts.ts';
import { type OperationName, operations, type Operation as TableOperation } from '../../operations.ts';

// What the pages read of the OpenAPI document. They show nothing else about an operation.

export interface Schema {
  $ref?: string;
  type?: string | readonly string[];
  format?: string;
  enum?: readonly unknown[];
  const?: unknown;
  description?: string;
  default?: unknown;
  example?: unknown;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  maxItems?: number;
  items?: Schema;
  properties?: Readonly<Record<string, Schema>>;
  required?: readonly string[];
  oneOf?: readonly Schema[];
  anyOf?: readonly Schema[];
}

export interface Parameter {
  in: 'path' | 'query' | 'header';
  name: string;
  required?: boolean;
  description?: string;
  schema: Schema;
}

interface Content {
  schema: Schema;
  example?: unknown;
}

export interface Answer {
  status: string;
  description: string;
  headers: readonly string[];
  type: string | null;
  schema: Schema | null;
  example: unknown;
}

export interface Described {
  name: OperationName;
  method: string;
  path: string;
  tag: string;
  summary: string;
  description: string;
  parameters: readonly Parameter[];
  body: { schema: Schema; example: unknown; isRequired: boolean } | null;
  answers: readonly Answer[];
}

interface Operation {
  operationId: OperationName;
  tags: readonly string[];
  summary: string;
  description: string;
  parameters?: readonly Parameter[];
  requestBody?: { required?: boolean; content: Readonly<Record<string, Content>> };
  responses: Readonly<
    Record<
      string,
      {
        description: string;
        headers?: Readonly<Record<string, unknown>>;
        content?: Readonly<Record<string, Content>>;
      }
    >
  >;
}

export interface Documentation {
  introduction: string;
  tags: readonly { name: string; description: string }[];
  operations: readonly Described[];
  /** Schemas that others refer to, by their name. */
  schemas: Readonly<Record<string, Schema>>;
}

/** Reads the document that /openapi.json has. It takes some 50 ms, so callers keep it. */
export function readDocumentation(baseUrl: string): Documentation {
  const document = makeDocument(baseUrl, readExamples()) as unknown as {
    info: { description: string };
    tags: Documentation['tags'];
    paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
    components: { schemas: Documentation['schemas'] };
  };
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => described(method, path, operation)),
  );
  return {
    introduction: document.info.description,
    tags: document.tags,
    operations,
    schemas: document.components.schemas,
  };
}

function described(method: string, path: string, operation: Operation): Described {
  const body = operation.requestBody?.content['application/json'];
  return {
    name: operation.operationId,
    method: method.toUpperCase(),
    path,
    tag: operation.tags[0] ?? '',
    summary: operation.summary,
    description: operation.description,
    parameters: operation.parameters ?? [],
    body:
      body === undefined
        ? null
        : { schema: body.schema, example: body.example, isRequired: operation.requestBody?.required === true },
    answers: Object.entries(operation.responses).map(([status, { description, headers = {}, content = {} }]) => {
      const [type, shown] = Object.entries(content)[0] ?? [null, undefined];
      return {
        status,
        description,
        headers: Object.keys(headers),
        type,
        schema: shown?.schema ?? null,
        example: shown?.example,
      };
    }),
  };
}

/** Whether a form can show the operation's answer. A stream does not end, and a file may have gigabytes. */
export function canBeTried(name: OperationName): boolean {
  const { textType, fileTypes }: TableOperation = operations[name];
  return textType !== 'text/event-stream' && fileTypes === undefined;
}
