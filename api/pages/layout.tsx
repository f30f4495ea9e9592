import { renderToString } from 'preact-render-to-string';
import { assetPath } from './assets.ts';
import { Form, Problem } from './fields.tsx';
import type { View } from './page.ts';
import { Link } from './parts.tsx';
import { type Face, type MenuEntry, type Surroundings, SurroundingsContext, useSurroundings } from './surroundings.ts';

// What all pages have around them.

/** Renders the whole document. */
export function renderPage(view: View, surroundings: Surroundings): string {
  const page = (
    <SurroundingsContext.Provider value={surroundings}>
      <Document view={view} />
    </SurroundingsContext.Provider>
  );
  return `<!doctype html>\n${renderToString(page)}\n`;
}

function Document({ view }: { view: View }) {
  const { prefix, assets, menu, done, refused } = useSurroundings();
  const asset = (name: string) => `${prefix}${assetPath(assets, name)}`;
  return (
    <html lang="es">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>{`${view.title} · Padrón`}</title>
        <link rel="icon" type="image/svg+xml" href={asset('icono.svg')} />
        <link rel="stylesheet" href={asset('padron.css')} />
        {view.feed && (
          <link
            rel="alternate"
            type="application/atom+xml"
            title={view.feed.title}
            href={`${prefix}${view.feed.path}`}
          />
        )}
        {['copy.js', ...(view.scripts ?? [])].map((name) => (
          <script key={name} type="module" src={asset(name)} />
        ))}
      </head>
      <body>
        <a class="skip" href="#contenido">
          Ir al contenido
        </a>
        <Header />
        {menu.length > 0 && <ConsoleMenu menu={menu} />}
        <main id="contenido">
          {done !== null && (
            <p class="message good" role="status">
              {done}
            </p>
          )}
          {refused !== null && <Problem filled={refused} />}
          {view.body}
        </main>
        <Footer />
      </body>
    </html>
  );
}

/** What stands around the pages of the public port. */
export const publicFace: Face = {
  title: null,
  sections: [
    { path: '/estado', name: 'Estado' },
    { path: '/calendario', name: 'Calendario' },
    { path: '/docs', name: 'Documentación' },
    { path: '/errores', name: 'Errores' },
    { path: '/consola', name: 'Consola' },
  ],
  menuName: 'Consola',
  signOutPath: '/consola/salir',
};

function Header() {
  const { title, sections } = useSurroundings().face;
  return (
    <header class="site">
      <div class="wide">
        <Link to="/" class="brand">
          Padrón{title !== null && <span class="brand-part"> · {title}</span>}
        </Link>
        {sections.length > 0 && (
          <nav aria-label="Secciones">
            <ul>
              {sections.map(({ path, name }) => (
                <li key={path}>
                  <Link to={path}>{name}</Link>
                </li>
              ))}
            </ul>
          </nav>
        )}
      </div>
    </header>
  );
}

function ConsoleMenu({ menu }: { menu: readonly MenuEntry[] }) {
  const { menuName, signOutPath } = useSurroundings().face;
  return (
    <nav class="menu" aria-label={menuName}>
      <ul class="wide">
        {menu.map(({ path, name }) => (
          <li key={path}>
            <Link to={path}>{name}</Link>
          </li>
        ))}
        <li class="last">
          <Form name="salir" to={signOutPath}>
            <button type="submit" class="link">
              Salir
            </button>
          </Form>
        </li>
      </ul>
    </nav>
  );
}

function Footer() {
  return (
    <footer class="site">
      <div class="wide">
        <p>
          Datos de los padrones públicos de la SUNAT y del organismo de contrataciones, con la fecha de cada uno. No es
          un servicio de esas entidades.
        </p>
        <p>Las horas son de Lima (UTC−05:00).</p>
      </div>
    </footer>
  );
}
