import { nameField, tokenField } from '../../../api/pages/sessions/form-tokens.ts';

/** An answer that was read to its end. */
export interface Shown {
  status: number;
  headers: Headers;
  html: string;
}

interface Sent {
  /** The form's name in its page. */
  form: string;
  fields?: Record<string, string>;
  /** Headers and hidden fields that a browser would not send so. Null leaves one out. */
  headers?: Record<string, string | null>;
  token?: string | null;
}

/** Somebody with a browser, without one: keeps cookies and sends forms as browsers do, and follows no redirect. */
export class Visitor {
  readonly #url: string;
  readonly cookies = new Map<string, string>();
  /** Form token of the last page that had one. */
  token: string | null = null;

  constructor(url: string) {
    this.#url = url;
  }

  async get(path: string, headers: Record<string, string> = {}): Promise<Shown> {
    return this.#read(await this.#fetch(path, { headers: { accept: 'text/html', ...headers } }));
  }

  async post(path: string, { form, fields = {}, headers = {}, token = this.token }: Sent): Promise<Shown> {
    const own: Record<string, string> = token === null ? {} : { [tokenField]: token };
    const sent = Object.entries({
      accept: 'text/html',
      origin: this.#url,
      'sec-fetch-site': 'same-origin',
      'user-agent': 'Mozilla/5.0 (X11; Linux x86_64) Chrome/156.0',
      ...headers,
    }).filter((entry): entry is [string, string] => entry[1] !== null);
    const body = new URLSearchParams({ [nameField]: form, ...own, ...fields });
    return this.#read(await this.#fetch(path, { method: 'POST', headers: Object.fromEntries(sent), body }));
  }

  #fetch(path: string, options: RequestInit): Promise<Response> {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    return fetch(`${this.#url}${path}`, {
      ...options,
      redirect: 'manual',
      headers: { ...options.headers, ...(cookie === '' ? {} : { cookie }) },
    });
  }

  async #read(response: Response): Promise<Shown> {
    for (const line of response.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(line)!;
      if (/max-age=0/i.test(line)) this.cookies.delete(name!);
      else this.cookies.set(name!, value!);
    }
    const html = await response.text();
    const token = new RegExp(`name="${tokenField}" value="([^"]+)"`).exec(html)?.[1];
    if (token !== undefined) this.token = token;
    return { status: response.status, headers: response.headers, html };
  }

  async signIn(token: string, fields: Record<string, string> = {}): Promise<Shown> {
    await this.get('/consola');
    const answer = await this.post('/consola', { form: 'entrar', fields: { token, ...fields } });
    // Forms of the console have another token than those of a visitor.
    if (answer.status === 303) await this.get('/consola/resumen');
    return answer;
  }
}
