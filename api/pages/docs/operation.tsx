import type { OperationName } from '../../operations.ts';
import type { Page, PageRequest } from '../page.ts';
import { Code, Link, Marked } from '../parts.tsx';
import { type Answer, canBeTried, type Described, type Documentation, type Parameter } from './described.ts';
import { Request } from './index.tsx';
import { Markdown } from './markdown.tsx';
import { curlOf, exampleOf, javascriptOf, pythonOf } from './samples.ts';
import { type Field, FieldTable, fieldsOf, typeOf } from './schema-table.tsx';

/** `/docs/consultarRuc` and so on: one operation with its parameters, answers and code. */
export function makeOperationPage(name: OperationName, documentation: () => Documentation): Page<PageRequest> {
  return {
    show: ({ origin }) => {
      const all = documentation();
      const operation = all.operations.find((each) => each.name === name)!;
      return { title: plain(operation.summary), body: <Operation operation={operation} all={all} origin={origin} /> };
    },
  };
}

/** Titles have no marks for code. */
function plain(text: string): string {
  return text.replaceAll('`', '');
}

interface Shown {
  operation: Described;
  all: Documentation;
  origin: string;
}

function Operation({ operation, all, origin }: Shown) {
  const { summary, method, path, description, parameters, body, answers } = operation;
  const [success, ...others] = answers;
  return (
    <article>
      <p class="path">
        <Link to="/docs">Documentación</Link> · {operation.tag}
      </p>
      <h1>
        <Marked text={summary} />
      </h1>
      <p>
        <Request method={method} path={path} />
      </p>
      <Markdown text={description} />
      {canBeTried(operation.name) && (
        <p>
          <Link to={`/docs/${operation.name}/probar`} class="button">
            Probar esta operación
          </Link>
        </p>
      )}
      {parameters.length > 0 && (
        <>
          <h2>Parámetros</h2>
          <FieldTable label="Parámetros" fields={parameters.map((each) => fieldOf(each, all))} showsRequired />
        </>
      )}
      {body !== null && (
        <>
          <h2>Cuerpo</h2>
          <p>
            JSON en UTF-8{body.isRequired ? '' : '; puede faltar'}. Un campo que no esté en la tabla se rechaza con 400.
          </p>
          <FieldTable label="Campos del cuerpo" fields={fieldsOf(body.schema, all.schemas)} showsRequired />
        </>
      )}
      <h2>Código</h2>
      <Samples operation={operation} origin={origin} />
      {success !== undefined && <Success answer={success} all={all} />}
      <h2>Otras respuestas</h2>
      <dl class="facts">
        {others
          .toSorted((one, other) => Number(one.status) - Number(other.status))
          .map((answer) => (
            <div key={answer.status}>
              <dt class="tabular">{answer.status}</dt>
              <dd>
                <Markdown text={answer.description} />
              </dd>
            </div>
          ))}
      </dl>
    </article>
  );
}

const places = { path: 'en la ruta', query: 'tras `?`', header: 'en una cabecera' } as const;

function fieldOf(
  { name, in: place, required = false, description = '', schema }: Parameter,
  all: Documentation,
): Field {
  const { default: preset } = schema;
  const more = preset === undefined ? '' : `. Si falta, \`${String(preset)}\``;
  return {
    path: name,
    type: `${typeOf(schema, all.schemas)}, ${places[place]}`,
    isRequired: required,
    description: `${description}${more}`,
  };
}

function Samples({ operation, origin }: Omit<Shown, 'all'>) {
  const asked = exampleOf(operation);
  return (
    <>
      <h3>curl</h3>
      <Code label="Código en curl">{curlOf(operation, asked, origin)}</Code>
      <h3>JavaScript</h3>
      <Code label="Código en JavaScript">{javascriptOf(operation, asked, origin)}</Code>
      <h3>Python</h3>
      <Code label="Código en Python">{pythonOf(operation, asked, origin)}</Code>
    </>
  );
}

function Success({ answer: { status, description, type, schema, example, headers }, all }: SuccessProps) {
  return (
    <>
      <h2>Respuesta {status}</h2>
      <p>
        {description}
        {type === null ? ', sin cuerpo' : <Typed type={type} />}. Cabeceras: <Marked text={headersText(headers)} />.
      </p>
      {example !== undefined && (
        <Code label={`Ejemplo de la respuesta ${status}`}>{JSON.stringify(example, null, 2)}</Code>
      )}
      {schema !== null && fieldsOf(schema, all.schemas).length > 0 && (
        <FieldTable label="Campos de la respuesta" fields={fieldsOf(schema, all.schemas)} showsRequired={false} />
      )}
    </>
  );
}

interface SuccessProps {
  answer: Answer;
  all: Documentation;
}

function Typed({ type }: { type: string }) {
  return (
    <>
      , <code>{type}</code>
    </>
  );
}

function headersText(headers: readonly string[]): string {
  return headers.map((name) => `\`${name}\``).join(', ');
}
