import type { ComponentChildren } from 'preact';
import type { z } from 'zod';
import type { Capability } from '../../schemas/http/account.ts';
import type { PlanAccess } from '../access.ts';
import type { ApiContext } from '../request.ts';
import type { ConsoleSession } from './sessions/sessions.ts';

// What a page is. table.ts lists the pages, and mount.tsx answers requests with them.

/** What a page shows. */
export interface View {
  /** Stands in the browser's tab and in search results, without the name of the service. */
  title: string;
  body: ComponentChildren;
  /** Names of modules of assets/ that this page uses, such as `suggest.js`. It works without them. */
  scripts?: readonly string[];
  /** 200 if omitted, or 422 when a form is shown again with its errors. */
  status?: number;
  /** An Atom feed of what the page shows, which readers of news find in the page's head. */
  feed?: { title: string; path: `/${string}` };
}

/** Leads the browser to another of our pages. After a form it does so with GET, so that a reload repeats no act. */
export interface Redirect {
  /** Path and query, without the prefix under which a proxy may serve us. */
  to: string;
}

/** Leads the browser to another site, whose address our settings name. */
export interface Outside {
  outside: URL;
}

/** A file that the browser saves. */
export interface Download {
  fileName: string;
  /** Media type without its charset, which is UTF-8. */
  type: 'text/csv' | 'application/json';
  text: string;
}

/** For a page that has answered by itself, as a stream of events does. */
export interface Answered {
  isAnswered: true;
}

export type Answer = View | Redirect | Outside | Download | Answered;

/** Spanish texts by the name of the field that they are about. */
export type FieldErrors = Readonly<Record<string, string>>;

/** What a person filled in, in a form or in the address of a page with filters. */
export interface Filled {
  /** The texts as they were typed. The texts of a field that is given several times stand in lines of their own. */
  typed: Readonly<Record<string, string>>;
  errors: FieldErrors;
  /** What is wrong with no single field. */
  problem: string | null;
}

export interface RefusedForm extends Filled {
  name: string;
}

export interface PageRequest<Query = unknown> {
  context: ApiContext;
  /** The parameters of the path, not checked yet. */
  params: Readonly<Record<string, string>>;
  /** The filters in the address. `values` is null when there are errors. Parameters that the page lacks are ignored. */
  query: Filled & { values: Query | null };
  /** The form that was sent last, if it was refused. Form and its fields show the errors and what was typed. */
  refused: RefusedForm | null;
  /** Scheme and host of this service, for examples. */
  origin: string;
}

/** A request of somebody who is signed in. */
export interface SessionRequest<Session, Query = unknown> extends PageRequest<Query> {
  session: Session;
}

/** A request of a customer. The session's caller is who would ask with the session's token. */
export type AccountRequest<Query = unknown> = SessionRequest<ConsoleSession, Query>;

/** A form of a page. It is sent to the page's own address with POST. */
export interface PageForm<Request> {
  fields: z.ZodObject;
  /**
   * Acts, and returns where to go then. A view is for what can be shown only once, such as a secret. An ApiProblem
   * below 500, but 404, shows the page again: an entry of its `errors` stands beside the field of that name.
   */
  submit(values: unknown, request: Request): Promise<Redirect | View>;
}

/** Makes a form from the schema of its fields. Empty fields count as omitted, and other fields are refused. */
export function form<Schema extends z.ZodObject, Request>(
  fields: Schema,
  submit: (values: z.output<Schema>, request: Request) => Promise<Redirect | View>,
): PageForm<Request> {
  return { fields, submit: submit as PageForm<Request>['submit'] };
}

export interface Page<Request> {
  /** Schema of the filters in the address. */
  query?: z.ZodObject;
  /** Forms by the name that `Form` has in the page. */
  forms?: Readonly<Record<string, PageForm<Request>>>;
  /** Texts about what was just done, by the name that a redirect gives in `?hecho=`. */
  done?: Readonly<Record<string, string>>;
  show(request: Request): Answer | Promise<Answer>;
}

type PublicPage<Query extends z.ZodObject> = Omit<Page<PageRequest<z.output<Query>>>, 'query'> & { query: Query };
type AccountPage<Query extends z.ZodObject> = Omit<Page<AccountRequest<z.output<Query>>>, 'query'> & { query: Query };

/** Gives `show` and the forms the types of the page's filters. */
export function withQuery<Query extends z.ZodObject>(page: PublicPage<Query>): Page<PageRequest> {
  return page as unknown as Page<PageRequest>;
}
export function accountPageWithQuery<Query extends z.ZodObject>(page: AccountPage<Query>): Page<AccountRequest> {
  return page as unknown as Page<AccountRequest>;
}

/** A line of a table of pages. Parameters of the path stand in braces. */
export interface PageRow<Session = ConsoleSession> {
  path: `/${string}`;
  /** `anyone` needs nothing. `session` needs a session of the table's console, and without one leads to the sign-in. */
  access: 'anyone' | 'session';
  page: Page<SessionRequest<Session>>;
  /** Whether the page is the same for everybody and for as long as the process runs, so that anyone may keep it. */
  isFixed: boolean;
  /** Its name in the menu. Without a name it is not in it. */
  menu: string | null;
  /** Null for pages that need no session. */
  rules: AccountRules | null;
}

/** What a page of the console asks for. Every session may see pages; admission.tsx checks the rest. */
export interface AccountRules {
  /** The plans whose accounts may see the page, as for the operation of the API that it stands for. */
  plan: PlanAccess;
  /** Whether the page reads registers, and so counts as a request of its minute. */
  isLookUp: boolean;
  /** Whether even seeing it takes a sign-in of the last minutes. */
  isConfirmed: boolean;
  /** One rule for each form of the page. */
  forms: Readonly<Record<string, FormRule>>;
}

export interface FormRule {
  /** The session must have all of them. */
  needs: readonly Capability[];
  /** If omitted, the page's. */
  plan?: PlanAccess;
  /** Set for what shows or changes a secret, and for what deletes. The token is then asked for again. */
  isConfirmed?: true;
}

/** Checks what the rules of a table's rows ask of a session. */
export interface Admission<Session> {
  /** Returns what is shown or where to go instead, or null when the page may be shown. */
  admit(context: ApiContext, rules: AccountRules, session: Session): Promise<View | Redirect | null>;
  /**
   * Returns what is shown or where to go instead, or null when the form may act. Nothing that was typed counts before.
   * @throws ApiProblem
   */
  admitForm(
    context: ApiContext,
    rules: AccountRules,
    rule: FormRule,
    session: Session,
  ): Promise<View | Redirect | null>;
  /** Whether the session has all of these. Forms that it may not send are not shown. */
  has(session: Session, needs: readonly Capability[]): boolean;
}

type RowOptions = Partial<Pick<PageRow, 'isFixed' | 'menu'>>;
type AccountOptions = Partial<Pick<PageRow, 'menu'> & AccountRules>;

export function anyone(path: PageRow['path'], page: Page<PageRequest>, { isFixed = false, menu }: RowOptions = {}) {
  return { path, access: 'anyone' as const, page, isFixed, menu: menu ?? null, rules: null };
}

/** @throws Error when a form has no rule, or a rule has no form */
export function account(path: PageRow['path'], page: Page<AccountRequest>, options: AccountOptions = {}) {
  const { menu, plan = 'free', isLookUp = false, isConfirmed = false, forms = {} } = options;
  const [made, ruled] = [page.forms ?? {}, forms].map((each) => Object.keys(each).sort().join());
  if (made !== ruled) throw new Error(`${path} has the forms ${made} and rules for ${ruled}`);
  return { ...signedIn(path, page, { menu }), rules: { plan, isLookUp, isConfirmed, forms } };
}

export function signedIn<Session>(
  path: PageRow['path'],
  page: Page<SessionRequest<Session>>,
  { menu }: Pick<RowOptions, 'menu'> = {},
) {
  return { path, access: 'session' as const, page, isFixed: false, menu: menu ?? null, rules: null };
}

export function isRedirect(answer: Answer): answer is Redirect | Outside {
  return 'to' in answer || 'outside' in answer;
}

export function isView(answer: Answer): answer is View {
  return 'body' in answer;
}

export function isDownload(answer: Answer): answer is Download {
  return 'fileName' in answer;
}
