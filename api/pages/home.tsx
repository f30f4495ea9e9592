import type { Page, PageRequest } from './page.ts';
import { Code, Link } from './parts.tsx';

/** `/`: what the service is, a first call, and where to go on. */
export function makeHomePage({ sandboxToken }: { sandboxToken: string }): Page<PageRequest> {
  return {
    show: ({ origin }) => ({ title: 'Consultas y avisos del RUC', body: <Home {...{ origin, sandboxToken }} /> }),
  };
}

const ways = [
  {
    to: '/estado',
    name: 'Estado de los datos',
    text: 'De qué fecha es cada registro, cuándo se espera el próximo y, si hay atraso, de quién es.',
  },
  {
    to: '/calendario',
    name: 'Calendario tributario',
    text: 'Vencimientos por último dígito, feriados y plazos en días hábiles, para su propio calendario.',
  },
  {
    to: '/docs',
    name: 'Documentación',
    text: 'Cada operación con sus parámetros, su respuesta, código en tres lenguajes y un formulario para probarla.',
  },
  { to: '/errores', name: 'Errores', text: 'Qué significa cada código de error y qué hacer cuando llega.' },
  { to: '/consola', name: 'Consola', text: 'Para clientes: plan, consumo del mes y sesiones. Se entra con un token.' },
];

function Home({ origin, sandboxToken }: { origin: string; sandboxToken: string }) {
  return (
    <>
      <div class="lead">
        <h1>El padrón del RUC, con la fecha de cada dato</h1>
        <p>
          Padrón responde consultas sobre los contribuyentes del Perú a partir de los padrones que la autoridad
          tributaria publica. Los descarga cada madrugada, guarda cada cambio y dice en cada respuesta de qué fecha es
          el dato. Cuando una empresa de su lista cambia de estado, de condición o de nombre, le envía un aviso firmado.
        </p>
      </div>
      <section>
        <h2>Una primera consulta</h2>
        <p>
          El calendario tributario se consulta con el token de pruebas, con datos reales. ¿El 28 de julio es día hábil?
        </p>
        <Code label="Primera consulta con curl">{`curl -H 'Authorization: Bearer ${sandboxToken}' \\
  ${origin}/id/v1/calendario/2026-07-28`}</Code>
        <p>Con el token de su cuenta, el registro de una empresa:</p>
        <Code label="Consulta de un RUC con curl">{`curl -H 'Authorization: Bearer pad_live_…' \\
  ${origin}/id/v1/ruc/20131312955`}</Code>
      </section>
      <section>
        <h2>Por dónde seguir</h2>
        <ul class="cards">
          {ways.map(({ to, name, text }) => (
            <li key={to}>
              <Link to={to}>{name}</Link>
              <p>{text}</p>
            </li>
          ))}
        </ul>
        <p>
          Para programas: el documento <Link to="/openapi.json">OpenAPI 3.1</Link> describe toda la API.
        </p>
      </section>
    </>
  );
}
