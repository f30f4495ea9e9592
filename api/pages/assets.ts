import { hash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { notFound } from '../problems.ts';
import type { ApiRouter } from '../request.ts';
import { type FixedText, fixedText, sendFixed } from './answers.ts';

// Files of the pages: the style sheet, the icon and modules for browsers, from the folder `assets`. The address of each
// has a hash of its bytes, so that a browser may keep it for ever.

const folder = new URL('assets/', import.meta.url);
const types: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
};

interface Asset {
  hash: string;
  type: string;
  text: string;
  prepared?: FixedText;
}

export type Assets = ReadonlyMap<string, Asset>;

/** The parts of the style sheet `padron.css`, by the listener that serves it. Later parts win. */
const common = ['base.css', 'parts.css', 'charts.css', 'forms.css'];
const sheets = {
  public: [...common, 'docs.css', 'anyone.css', 'console.css'],
  operators: [...common, 'operator.css'],
};

export function readAssets(listener: keyof typeof sheets = 'public'): Assets {
  const read = (name: string) => readFileSync(new URL(name, folder), 'utf8');
  const others = readdirSync(folder).filter((name) => !name.endsWith('.css'));
  const texts: [string, string][] = [
    ['padron.css', sheets[listener].map(read).join('\n')],
    ...others.map((name): [string, string] => [name, read(name)]),
  ];
  return new Map(texts.map(([name, text]) => [name, assetOf(name, text)]));
}

function assetOf(name: string, text: string): Asset {
  const type = types[path.extname(name)];
  if (type === undefined) throw new Error(`no type is known for the pages' file ${name}`);
  return { hash: hash('sha256', text, 'hex').slice(0, 12), type, text };
}

/** Returns the path of a file such as `padron.css`. @throws Error when the folder does not have it */
export function assetPath(assets: Assets, name: string): string {
  const asset = assets.get(name);
  if (asset === undefined) throw new Error(`the folder of the pages' files has no ${name}`);
  const { name: stem, ext } = path.parse(name);
  return `/recursos/${stem}-${asset.hash}${ext}`;
}

const hashedName = /^([a-z-]+)-([0-9a-f]{12})(\.[a-z]+)$/;

export function mountAssets(router: ApiRouter, assets: Assets): void {
  const modifiedAt = new Date();
  router.get('/recursos/:archivo', (context) => {
    const name = context.params.archivo ?? '';
    const [, stem, wanted, ext] = hashedName.exec(name) ?? [];
    const asset = assets.get(stem === undefined ? name : `${stem}${ext}`);
    if (asset === undefined) throw notFound('El archivo');
    asset.prepared ??= fixedText(asset.text);
    // A module imports another by its plain name. And while a release replaces another, a page of one may ask a process
    // of the other, which has other bytes. Neither address stands for these bytes for ever.
    const cacheControl = wanted === asset.hash ? 'public, max-age=31536000, immutable' : 'public, no-cache';
    sendFixed(context, asset.prepared, { type: asset.type, cacheControl, modifiedAt });
  });
}
