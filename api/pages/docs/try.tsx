import { z } from 'zod';
import type { OperationName } from '../../operations.ts';
import type { ApiContext } from '../../request.ts';
import { Form, Select, TextArea, TextField } from '../fields.tsx';
import { form, type Page, type PageRequest, type View } from '../page.ts';
import { Code, Facts, Link, Marked } from '../parts.tsx';
import type { Answered, Ask } from './ask.ts';
import type { Described, Documentation, Parameter } from './described.ts';
import { Request } from './index.tsx';
import { type Asked, curlOf, exampleOf, exampleValue, headersOf, targetOf } from './samples.ts';

// `/docs/consultarRuc/probar` and so on: a form that sends a request to the operation and shows the answer. It works
// without JavaScript. The token goes in the body of the form, and neither it nor the answer is stored.

export interface TryDependencies {
  sandboxToken: string;
  ask: Ask;
}

/** Longest text of an answer on the page, in characters. */
const maxShown = 40_000;

const tokenName = 'token';
const bodyName = 'cuerpo';

export function makeTryPage(
  name: OperationName,
  documentation: () => Documentation,
  { sandboxToken, ask }: TryDependencies,
): Page<PageRequest> {
  const operation = () => documentation().operations.find((each) => each.name === name)!;
  const page = (typed: Typed | null, outcome?: Outcome): View => ({
    title: `Probar: ${operation().summary.replaceAll('`', '')}`,
    body: <Try operation={operation()} typed={typed ?? presets(operation(), sandboxToken)} outcome={outcome} />,
  });
  return {
    forms: {
      // The API itself checks the values. So the page shows its answer to a wrong one, as a program would get it.
      get probar() {
        return form(fieldsOf(operation()), async (values, request: PageRequest) => {
          const asked = askedOf(operation(), values as Typed);
          const answered = await ask({
            method: operation().method,
            target: targetOf(operation(), asked),
            headers: {
              ...headersOf(operation(), asked),
              ...addressOf(request.context),
              authorization: `Bearer ${values[tokenName]}`,
            },
            body: asked.body,
            remoteAddress: request.context.req.socket.remoteAddress,
          });
          return page(values as Typed, { answered, curl: curlOf(operation(), asked, request.origin) });
        });
      },
    },
    show: ({ refused }) => page(refused?.typed ?? null),
  };
}

type Typed = Readonly<Record<string, string>>;

interface Outcome {
  answered: Answered;
  curl: string;
}

/** Parameters that a person fills in. A token in the address is for calendar programs only. */
function shownParameters({ parameters }: Described): readonly Parameter[] {
  return parameters.filter(({ name }) => name !== tokenName);
}

function fieldsOf(operation: Described) {
  const text = z.string();
  const parameters = shownParameters(operation).map(({ name, required }) => [
    name,
    required === true ? text : text.optional(),
  ]);
  return z.strictObject({
    [tokenName]: text.regex(/^\S+$/, 'no puede tener espacios'),
    ...Object.fromEntries(parameters),
    ...(operation.body === null ? {} : { [bodyName]: operation.body.isRequired ? text : text.optional() }),
  });
}

function askedOf(operation: Described, values: Typed): Asked {
  const given = shownParameters(operation).filter(({ name }) => values[name] !== undefined);
  return {
    values: Object.fromEntries(given.map(({ name }) => [name, values[name]!])),
    body: values[bodyName] ?? null,
  };
}

/** Who is limited per address stays so: the request counts as one of the person's own. */
function addressOf({ req: { headers } }: ApiContext): Record<string, string> {
  const forwarded = headers['x-forwarded-for'];
  return forwarded === undefined ? {} : { 'x-forwarded-for': String(forwarded) };
}

/** What the form shows first: the document's examples, and the public token where it is enough. */
function presets(operation: Described, sandboxToken: string): Typed {
  const { values, body } = exampleOf(operation);
  const isPublic = operation.tag === 'Calendario';
  return {
    ...values,
    ...(isPublic ? { [tokenName]: sandboxToken } : {}),
    ...(body === null ? {} : { [bodyName]: JSON.stringify(JSON.parse(body), null, 2) }),
  };
}

function Try({ operation, typed, outcome }: { operation: Described; typed: Typed; outcome: Outcome | undefined }) {
  const { name, summary, method, path, body } = operation;
  return (
    <>
      <p class="path">
        <Link to="/docs">Documentación</Link> · <Link to={`/docs/${name}`}>{summary.replaceAll('`', '')}</Link>
      </p>
      <h1>Probar: {summary.replaceAll('`', '')}</h1>
      <p>
        <Request method={method} path={path} />
      </p>
      {outcome !== undefined && <Shown {...outcome} />}
      <p>
        {method === 'GET'
          ? 'La consulta se hace de verdad: cuenta en la cuota y en el límite por minuto como cualquier otra.'
          : 'La operación se hace de verdad, sobre los datos de su cuenta.'}
      </p>
      <Form name="probar">
        <TextField
          name={tokenName}
          label="Token"
          hint="Va en la cabecera Authorization. No se guarda."
          value={typed[tokenName]}
          autocomplete="off"
          isCode
          isRequired
        />
        {shownParameters(operation).map((parameter) => (
          <ParameterField key={parameter.name} parameter={parameter} value={typed[parameter.name]} />
        ))}
        {body !== null && (
          <TextArea name={bodyName} label="Cuerpo" hint="Un objeto JSON." rows={8} value={typed[bodyName]} />
        )}
        <button type="submit">Enviar</button>
      </Form>
    </>
  );
}

function ParameterField({ parameter, value }: { parameter: Parameter; value: string | undefined }) {
  const { name, required = false, description: text = '', schema } = parameter;
  const label = required ? name : `${name} (opcional)`;
  if (schema.enum !== undefined || schema.type === 'boolean') {
    const choices = (schema.enum ?? ['true', 'false']).map(String);
    const options = [...(required ? [] : ['']), ...choices].map((each) => ({ value: each, label: each || '—' }));
    return <Select name={name} label={label} hint={<Marked text={text} />} value={value ?? ''} options={options} />;
  }
  const hint = schema.example === undefined ? text : `${text}. Por ejemplo: ${exampleValue(parameter)}`;
  return (
    <TextField
      name={name}
      label={label}
      hint={<Marked text={hint} />}
      value={value}
      isRequired={required}
      autocomplete="off"
    />
  );
}

function Shown({ answered: { status, headers, text }, curl }: Outcome) {
  const shown = ['content-type', 'ratelimit', 'retry-after', 'x-request-id'].flatMap((name) =>
    headers[name] === undefined ? [] : [[name, <code key={name}>{headers[name]}</code>] as const],
  );
  return (
    <section class="outcome" aria-label="Respuesta">
      <h2>Respuesta: {status}</h2>
      <p class={status < 400 ? 'message good' : 'message bad'} role="status">
        {status < 400 ? 'La petición se respondió.' : 'La petición se rechazó; el cuerpo dice por qué.'}
      </p>
      {text !== '' && <Code label="Cuerpo de la respuesta">{indented(text, headers['content-type'] ?? '')}</Code>}
      <Facts facts={shown} />
      <h3>La misma petición con curl</h3>
      <Code label="La misma petición con curl">{curl}</Code>
    </section>
  );
}

function indented(text: string, type: string): string {
  const whole = /json/.test(type) ? JSON.stringify(JSON.parse(text), null, 2) : text;
  return whole.length <= maxShown ? whole : `${whole.slice(0, maxShown)}\n… (${whole.length} caracteres en total)`;
}
