import { randomBytes } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { ApiContext, ApiRouter } from '../request.ts';
import { orProblem } from './admission.tsx';
import { type FixedText, fixedText, sendDownload, sendFixedPage, sendPage } from './answers.ts';
import type { Assets } from './assets.ts';
import { errorsIn, fill, readForm } from './forms.ts';
import { renderPage } from './layout.tsx';
import {
  type AccountRules,
  type Admission,
  type Answer,
  isDownload,
  isRedirect,
  isView,
  type Outside,
  type PageForm,
  type PageRow,
  type Redirect,
  type RefusedForm,
  type SessionRequest,
  type View,
} from './page.ts';
import { type CookieName, originOf, prefixOf, readCookie, type Site, writeCookie } from './sessions/cookies.ts';
import {
  makeFormToken,
  nameField,
  refusedForm,
  requireFormToken,
  requireOwnOrigin,
  tokenField,
} from './sessions/form-tokens.ts';
import type { Face, MenuEntry } from './surroundings.ts';

/** What a table of pages needs besides its pages: the looks and the sessions of its console. */
export interface MountDependencies<Session> {
  site: Site;
  assets: Assets;
  face: Face;
  /** The cookies of those who are signed in, and of those who fill in a form without that. */
  cookies: { session: CookieName; visitor: CookieName };
  /** Returns the session with this value of the cookie, or null when it has ended. */
  findSession(secret: string, context: ApiContext): Promise<Session | null>;
  /** Where somebody without a session is sent. */
  signInPath: string;
  /** Checks what a row's rules ask for. Null for a table without rules. */
  admission: Admission<Session> | null;
}

/** Largest number of rendered pages in memory. They are some 20 kB each. */
const maxFixedPages = 200;

/**
 * Mounts the pages of a table: GET and HEAD for each, and POST where a page has forms. Errors are thrown on: the app
 * answers them with a page of their own (problem-page.tsx).
 */
export function mountPages<Session>(
  router: ApiRouter,
  rows: readonly PageRow<Session>[],
  dependencies: MountDependencies<Session>,
): void {
  const menu = rows.flatMap(({ menu, path }) => (menu === null ? [] : [{ path, name: menu }]));
  const fixed = new LRUCache<string, FixedText>({ max: maxFixedPages });
  const startedAt = new Date();
  const maySend = makeMaySend(rows, dependencies.admission);
  for (const row of rows) {
    const path = row.path.replace(/\{(\w+)\}/g, ':$1');
    const answer = new PageAnswer(row, { menu, maySend }, dependencies);
    router.get(path, async (context) => {
      if (leadsToPlainAddress(context)) return;
      if (!row.isFixed) return answer.show(context);
      const key = `${originOf(context, dependencies.site)} ${context.path}`;
      let text = fixed.get(key);
      if (text === undefined) {
        text = fixedText(await answer.fixedHtml(context));
        fixed.set(key, text);
      }
      sendFixedPage(context, text, startedAt);
    });
    if (row.page.forms !== undefined) router.post(path, (context) => answer.submit(context));
  }
}

/** Every page has one address. @returns whether the request was answered */
function leadsToPlainAddress(context: ApiContext): boolean {
  if (context.path === '/' || !context.path.endsWith('/')) return false;
  context.status = 308;
  context.redirect(`../${context.path.split('/').at(-2)}`);
  return true;
}

/** Answers the requests for one page. */
class PageAnswer<Session> {
  readonly #row: PageRow<Session>;
  readonly #others: OtherPages<Session>;
  readonly #dependencies: MountDependencies<Session>;

  constructor(row: PageRow<Session>, others: OtherPages<Session>, dependencies: MountDependencies<Session>) {
    this.#row = row;
    this.#others = others;
    this.#dependencies = dependencies;
  }

  async fixedHtml(context: ApiContext): Promise<string> {
    const answer = await this.#row.page.show(this.#request(context, null, null));
    if (!isView(answer)) throw new Error(`${this.#row.path} is fixed and must show a page`);
    return this.#html(answer, { context, session: null, secret: null, refused: null, done: null });
  }

  async show(context: ApiContext): Promise<void> {
    const open = await this.#open(context);
    if (open === null) return this.#signIn(context);
    const request = this.#request(context, open.session, null);
    const done = this.#row.page.done?.[String(context.query.hecho)] ?? null;
    const { rules } = this.#row;
    const { admission } = this.#dependencies;
    const admitted = async () =>
      rules === null || admission === null ? null : await admission.admit(context, rules, open.session as Session);
    const shown = async () => (await admitted()) ?? (await this.#row.page.show(request));
    const answer = await (this.#row.access === 'session' ? orProblem(context, shown) : shown());
    this.#send(context, answer, { ...open, refused: null, done });
  }

  /** Checks where the form comes from before anything else, and its fields before it acts. */
  async submit(context: ApiContext): Promise<void> {
    requireOwnOrigin(context, originOf(context, this.#dependencies.site));
    const sent = await readForm(context);
    const open = await this.#open(context);
    if (open === null) return this.#signIn(context);
    requireFormToken(open.secret, sent.get(tokenField));
    const name = sent.get(nameField) ?? '';
    const { forms = {}, show } = this.#row.page;
    const form = Object.hasOwn(forms, name) ? forms[name] : undefined;
    if (form === undefined) throw refusedForm('La página no tiene ese formulario.');
    const around = { ...open, refused: null, done: null };
    const instead = await this.#admitForm(context, name, open.session);
    if (instead !== null) return this.#send(context, instead, around);
    const outcome = await act(form, sent, this.#request(context, open.session, null));
    if (!('errors' in outcome)) return this.#send(context, outcome, around);
    const refused = { ...outcome, name };
    const view = await show(this.#request(context, open.session, refused));
    const marked = isView(view) ? { ...view, status: 422, title: `Error: ${view.title}` } : view;
    this.#send(context, marked, { ...around, refused });
  }

  /** @returns what is shown or where to go instead, or null when the form may act */
  async #admitForm(context: ApiContext, name: string, session: Session | null): Promise<View | Redirect | null> {
    const { rules } = this.#row;
    const { admission } = this.#dependencies;
    if (rules === null || session === null || admission === null) return null;
    return (
      (await admission.admitForm(context, rules, rules.forms[name]!, session)) ??
      (await admission.admit(context, rules, session))
    );
  }

  /** Returns the session and the secret from which form tokens are made, or null when a session is missing. */
  async #open(context: ApiContext): Promise<{ session: Session | null; secret: string | null } | null> {
    const { site, cookies, findSession } = this.#dependencies;
    if (this.#row.access === 'session') {
      const secret = readCookie(context, cookies.session, site);
      const session = secret === null ? null : await findSession(secret, context);
      return session === null ? null : { session, secret };
    }
    if (this.#row.page.forms === undefined) return { session: null, secret: null };
    const known = readCookie(context, cookies.visitor, site);
    if (known !== null || context.method === 'POST') return { session: null, secret: known };
    const secret = randomBytes(32).toString('base64url');
    writeCookie(context, cookies.visitor, secret, site);
    return { session: null, secret };
  }

  #signIn(context: ApiContext): void {
    const { site, cookies, signInPath } = this.#dependencies;
    const query = new URLSearchParams();
    if (context.method !== 'POST') query.set('volver', context.url);
    // Who has a cookie was signed in, and learns why that is over.
    if (readCookie(context, cookies.session, site) !== null) query.set('hecho', 'vencida');
    this.#redirect(context, { to: `${signInPath}?${query}` });
  }

  #request(context: ApiContext, session: Session | null, refused: RefusedForm | null): SessionRequest<Session> {
    const { query } = this.#row.page;
    const address = new URLSearchParams(context.querystring);
    return {
      context,
      params: context.params,
      query: query === undefined ? { typed: {}, errors: {}, problem: null, values: null } : fill(query, address, true),
      refused,
      origin: this.#dependencies.site.baseUrl || originOf(context, this.#dependencies.site),
      // Only pages with access `session` read it, and those are not shown without one.
      session: session as Session,
    };
  }

  #send(context: ApiContext, answer: Answer, around: Omit<Around<Session>, 'context'>): void {
    // A handler of the API may have named what it made.
    context.remove('Location');
    if (isRedirect(answer)) {
      this.#redirect(context, answer);
      return;
    }
    if (this.#row.access === 'session') context.set('X-Robots-Tag', 'noindex');
    if (isDownload(answer)) sendDownload(context, answer);
    else if (isView(answer)) sendPage(context, answer.status ?? 200, this.#html(answer, { context, ...around }));
  }

  #redirect(context: ApiContext, target: Redirect | Outside): void {
    const address = 'outside' in target ? target.outside.href : `${prefixOf(this.#dependencies.site)}${target.to}`;
    context.status = 303;
    context.set({ 'Cache-Control': 'no-store', Location: address });
    context.body = '';
  }

  #html(view: View, { context, session, secret, refused, done }: Around<Session>): string {
    const { site, assets, face } = this.#dependencies;
    return renderPage(view, {
      face,
      prefix: prefixOf(site),
      assets,
      path: context.path,
      formToken: secret === null ? null : makeFormToken(secret),
      refused,
      done,
      maySend: (name, to) => this.#others.maySend(session, to ?? this.#row.path, name),
      menu: this.#row.access === 'session' ? this.#others.menu : [],
    });
  }
}

/** What a page must know about the others. */
interface OtherPages<Session> {
  menu: readonly MenuEntry[];
  maySend: MaySend<Session>;
}

type MaySend<Session> = (session: Session | null, path: string, form: string) => boolean;

function makeMaySend<Session>(
  rows: readonly PageRow<Session>[],
  admission: Admission<Session> | null,
): MaySend<Session> {
  const forms = new Map(
    rows.map(({ path, rules }): [string, AccountRules['forms'] | undefined] => [path, rules?.forms]),
  );
  return (session, path, form) => {
    const needs = forms.get(path)?.[form]?.needs;
    return needs === undefined || session === null || admission === null || admission.has(session, needs);
  };
}

interface Around<Session> {
  context: ApiContext;
  session: Session | null;
  secret: string | null;
  refused: RefusedForm | null;
  done: string | null;
}

async function act<Session>(
  form: PageForm<SessionRequest<Session>>,
  sent: URLSearchParams,
  request: SessionRequest<Session>,
): Promise<View | Redirect | Omit<RefusedForm, 'name'>> {
  const { values, ...filled } = fill(form.fields, sent);
  if (values === null) return filled;
  try {
    return await form.submit(values, request);
  } catch (error) {
    return { typed: filled.typed, ...errorsIn(error, Object.keys(form.fields.shape)) };
  }
}
