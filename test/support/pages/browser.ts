import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { afterAll, expect } from 'vitest';
import { readLocalConfig, repositoryRoot } from '../../../deploy/local/config.ts';
import { findProgram } from '../../../deploy/local/fetch.ts';

// Journeys through the pages in a real browser, as Debian ships it. One browser serves a whole file of tests.

const { searchPath, environment } = readLocalConfig();

function findBrowser(): string | undefined {
  const names = ['chromium', 'chromium-browser', 'google-chrome'];
  return names.map((name) => findProgram(searchPath, name)).find((found) => found !== undefined);
}

/** A browser asks its maker's hosts for news at every start, unless it is started with these. */
const quiet = [
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** Longest wait for anything in a page, also on a busy machine. */
const waitMs = 30_000;

interface SkippingContext {
  skip(note: string): never;
}

export interface JourneyBrowser {
  /**
   * Opens a page that shares no cookies with others. Without a browser on this machine the test is skipped, and its
   * line says so; with PADRON_BROWSER=required it fails.
   * @param context the first argument of the test
   * @param options `scripts: false` for what must work without JavaScript. axe needs it, so such a page's looks are not
   *   checked.
   */
  open(context: SkippingContext, options?: { scripts?: boolean }): Promise<Page>;
}

/** Starts the browser at the first page, and ends it after the file's tests. */
export function useBrowser(): JourneyBrowser {
  let browser: Browser | undefined;
  const contexts: BrowserContext[] = [];
  afterAll(async () => {
    for (const each of contexts) await each.close();
    await browser?.close();
  });
  return {
    async open(context, { scripts = true } = {}) {
      const executablePath = findBrowser();
      if (executablePath === undefined) {
        if (environment.PADRON_BROWSER === 'required') throw new Error('no browser: apt-get install chromium');
        return context.skip('no browser on this machine: apt-get install chromium');
      }
      // Only root cannot have the browser's own sandbox.
      browser ??= await chromium.launch({ executablePath, args: quiet, chromiumSandbox: process.getuid?.() !== 0 });
      const opened = await browser.newContext({
        javaScriptEnabled: scripts,
        locale: 'es-PE',
        timezoneId: 'America/Lima',
        reducedMotion: 'reduce',
      });
      contexts.push(opened);
      const page = await opened.newPage();
      page.setDefaultTimeout(waitMs);
      watch(page);
      return page;
    },
  };
}

/** What a page did that none of ours may do. */
const complaints = new WeakMap<Page, string[]>();

function watch(page: Page): void {
  const found: string[] = [];
  complaints.set(page, found);
  page.on('pageerror', (error) => found.push(`error in a script: ${error.message}`));
  page.on('console', (message) => {
    // The status of a page about an error is its own matter.
    const isStatus = /^Failed to load resource: the server responded with a status of (4|503)/.test(message.text());
    // A stream of events that the server ends is opened again by the browser.
    const isStream = message.location().url.includes('/en-vivo');
    if (message.type() === 'error' && !isStatus && !isStream) found.push(`on the console: ${message.text()}`);
  });
  page.on('request', (request) => {
    const url = new URL(request.url());
    const own = page.url() === 'about:blank' ? url.host : new URL(page.url()).host;
    if (url.host !== own && url.protocol !== 'data:') found.push(`a request to ${url.host}`);
  });
}

/** The looks in which every state of a page is checked. Two of them have each width and each scheme of colours once. */
const looks = [
  { name: 'wide-light', width: 1280, height: 800, colorScheme: 'light' },
  { name: 'phone-dark', width: 390, height: 844, colorScheme: 'dark' },
  { name: 'wide-dark', width: 1280, height: 800, colorScheme: 'dark' },
  { name: 'phone-light', width: 390, height: 844, colorScheme: 'light' },
] as const;

/** `npm run pages:screenshots` sets it: the folder for pictures of all looks of every state. */
const pictures = environment.PADRON_SCREENSHOTS;
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

interface AxeOutcome {
  violations: { id: string; help: string; nodes: { html: string; failureSummary?: string }[] }[];
}

/**
 * Checks what the page shows now: accessible by axe's rules, no wider than the window, no error, nothing from elsewhere.
 * @param name names the state, as in `consola-error`
 */
export async function expectGoodLooks(page: Page, name: string): Promise<void> {
  for (const look of pictures === undefined ? looks.slice(0, 2) : looks) {
    await page.setViewportSize(look);
    await page.emulateMedia({ colorScheme: look.colorScheme });
    const state = `${name}, ${look.name}`;
    expect(await findingsOf(page), `axe: ${state}`).toEqual([]);
    const widths = await page.evaluate('[document.documentElement.scrollWidth, window.innerWidth]');
    const [content, window] = widths as [number, number];
    expect(content, `wider than the window: ${state}`).toBeLessThanOrEqual(window);
    if (pictures !== undefined) await picture(page, pictures, `${name}-${look.name}`);
  }
  expect(complaints.get(page), name).toEqual([]);
}

async function picture(page: Page, folder: string, name: string): Promise<void> {
  const to = path.resolve(repositoryRoot, folder);
  if (!existsSync(to)) mkdirSync(to, { recursive: true });
  await page.screenshot({ path: path.join(to, `${name}.png`), fullPage: true });
}

/** Returns a line for each finding of axe. Its script is evaluated by the browser itself, past the page's policy. */
async function findingsOf(page: Page): Promise<string[]> {
  await page.evaluate(`if (!window.axe) { ${axe} }`);
  const { violations } = (await page.evaluate('window.axe.run()')) as AxeOutcome;
  return violations.flatMap(({ id, help, nodes }) =>
    nodes.map(({ html, failureSummary = '' }) => `${id}: ${help}: ${html} ${failureSummary.replace(/\s+/g, ' ')}`),
  );
}
