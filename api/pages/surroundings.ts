import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { Assets } from './assets.ts';
import type { RefusedForm } from './page.ts';

// What the parts of a page must know about the request that it answers.

export interface MenuEntry {
  path: string;
  name: string;
}

/** What stands around the pages of one listener. */
export interface Face {
  /** Stands beside the name of the service. Null for nothing. */
  title: string | null;
  /** The pages in the bar above. */
  sections: readonly MenuEntry[];
  /** Names the menu of those who are signed in, for those who hear the page. */
  menuName: string;
  /** The page with the form `salir`, to which the menu's button is sent. */
  signOutPath: `/${string}`;
}

export interface Surroundings {
  face: Face;
  /** The path under which a proxy serves us, before every address of ours. */
  prefix: string;
  assets: Assets;
  /** Path of the page that is shown. */
  path: string;
  /** Null on pages without forms. */
  formToken: string | null;
  refused: RefusedForm | null;
  done: string | null;
  /** Whether the session may send a form of this name of the page `to`, or of the page itself. */
  maySend(form: string, to: string | undefined): boolean;
  /** The pages of the console, on its pages. */
  menu: readonly MenuEntry[];
}

export const SurroundingsContext = createContext<Surroundings | null>(null);

/** For parts of pages. */
export function useSurroundings(): Surroundings {
  const surroundings = useContext(SurroundingsContext);
  if (surroundings === null) throw new Error('a part of a page is rendered outside of a page');
  return surroundings;
}
