import type { ComponentChildren } from 'preact';
import type { z } from 'zod';
import type { ApiContext } from '../request.ts';
import type { ConsoleSession } from './sessions/sessions.ts';

// What a page is. table.ts lists the pages, and mount.tsx answers requests with them.

/** What a page shows. */
export interface View {
  /** Stands in the browser's tab and in search results, without the name of the service. */
  title: string;
  body: ComponentChildren;
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

/** Spanish texts by the name of the field that they are about. */
export type FieldErrors = Readonly<Record<string, string>>;

/** What a person filled in, in a form or in the address of a page with filters. */
export interface Filled {
  /** The texts as they were typed. A field that is given twice has its first text here. */
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

/** A request with a session. Its caller is who would ask with the session's token. */
export interface AccountRequest<Query = unknown> extends PageRequest<Query> {
  session: ConsoleSession;
}

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
  show(request: Request): View | Redirect | Promise<View | Redirect>;
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
export interface PageRow {
  path: `/${string}`;
  /** `anyone` needs nothing. `account` needs a session of the console, and without one leads to the sign-in. */
  access: 'anyone' | 'account';
  page: Page<AccountRequest>;
  /** Whether the page is the same for everybody and for as long as the process runs, so that anyone may keep it. */
  isFixed: boolean;
  /** Its name in the menu. Without a name it is not in it. */
  menu: string | null;
}

type RowOptions = Partial<Pick<PageRow, 'isFixed' | 'menu'>>;

export function anyone(path: PageRow['path'], page: Page<PageRequest>, { isFixed = false, menu }: RowOptions = {}) {
  return { path, access: 'anyone', page, isFixed, menu: menu ?? null } satisfies PageRow;
}

export function account(path: PageRow['path'], page: Page<AccountRequest>, { menu }: RowOptions = {}) {
  return { path, access: 'account', page, isFixed: false, menu: menu ?? null } satisfies PageRow;
}

export function isRedirect(answer: View | Redirect): answer is Redirect {
  return 'to' in answer;
}
