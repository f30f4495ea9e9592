import { type ComponentChildren, createContext } from 'preact';
import { useContext } from 'preact/hooks';
import { renderToString } from 'preact-render-to-string';
import type { Caller } from '../accounts/callers.ts';
import { type Assets, assetPath } from './assets.ts';
import type { RefusedForm, View } from './page.ts';

// What all pages have around them, and what their parts need to know.

export interface MenuEntry {
  path: string;
  name: string;
}

interface Surroundings {
  /** The path under which a proxy serves us, before every address of ours. */
  prefix: string;
  assets: Assets;
  /** Path of the page that is shown. */
  path: string;
  /** Null on pages without forms. */
  formToken: string | null;
  refused: RefusedForm | null;
  done: string | null;
  /** The pages of the console, on its pages. */
  menu: readonly MenuEntry[];
  caller: Caller | null;
}

const SurroundingsContext = createContext<Surroundings | null>(null);

/** For parts of pages. */
export function useSurroundings(): Surroundings {
  const surroundings = useContext(SurroundingsContext);
  if (surroundings === null) throw new Error('a part of a page is rendered outside of a page');
  return surroundings;
}

/** A link to a page of ours. @param to path and query; a part behind `#` may follow */
export function Link({ to, children, ...more }: { to: string; children: ComponentChildren; class?: string }) {
  const { prefix, path } = useSurroundings();
  const isHere = to === path;
  return (
    <a href={`${prefix}${to}`} aria-current={isHere ? 'page' : undefined} {...more}>
      {children}
    </a>
  );
}

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
  const { prefix, assets, menu, done } = useSurroundings();
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
        <script type="module" src={asset('copy.js')} />
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
          {view.body}
        </main>
        <Footer />
      </body>
    </html>
  );
}

const sections = [
  { path: '/docs', name: 'Documentación' },
  { path: '/errores', name: 'Errores' },
  { path: '/consola', name: 'Consola' },
];

function Header() {
  return (
    <header class="site">
      <div class="wide">
        <Link to="/" class="brand">
          Padrón
        </Link>
        <nav aria-label="Secciones">
          <ul>
            {sections.map(({ path, name }) => (
              <li key={path}>
                <Link to={path}>{name}</Link>
              </li>
            ))}
          </ul>
        </nav>
      </div>
    </header>
  );
}

function ConsoleMenu({ menu }: { menu: readonly MenuEntry[] }) {
  return (
    <nav class="menu" aria-label="Consola">
      <ul class="wide">
        {menu.map(({ path, name }) => (
          <li key={path}>
            <Link to={path}>{name}</Link>
          </li>
        ))}
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
