import type { Notice } from './receiver.ts';
import type { Received } from './watched.ts';

export interface Lookup {
  status: number;
  body: {
    data?: Record<string, unknown>;
    meta?: {
      fecha_dato?: string;
      fecha_padrones?: Record<string, string | null>;
      fuentes?: { registro: string; fecha_dato: string }[];
    };
    encontrado?: boolean;
    detail?: string;
  };
}

/** The register of each field that does not come from the daily register. */
const listOfField: Readonly<Record<string, string>> = {
  es_agente_retencion: 'agentes_retencion',
  es_buen_contribuyente: 'buenos_contribuyentes',
};

/** A customer of the service. He uses only the public API, with his own token. */
export class Customer {
  readonly #apiUrl: string;
  readonly #token: string;

  constructor(apiUrl: string, token: string) {
    this.#apiUrl = apiUrl;
    this.#token = token;
  }

  /** @throws Error with the `detail` of the answer when its status is not the expected one */
  async createList(nombre: string, rucs: readonly string[]): Promise<{ id: number }> {
    const list = await this.#post<{ data: { id: number } }>('/id/v1/watch/listas', { nombre, referencia: 'demo' }, 201);
    await this.#post(`/id/v1/watch/listas/${list.data.id}/rucs`, { rucs }, 200);
    return { id: list.data.id };
  }

  async createWebhook(url: string): Promise<{ id: string; secreto: string }> {
    const created = await this.#post<{ data: { id: string; secreto: string } }>('/id/v1/watch/webhooks', { url }, 201);
    return created.data;
  }

  async lookUp(ruc: string): Promise<Lookup> {
    const response = await this.#request(`/id/v1/ruc/${ruc}`);
    return { status: response.status, body: (await response.json()) as Lookup['body'] };
  }

  async events(): Promise<{ evento: string; datos: { ruc: string; campo: string } }[]> {
    const response = await this.#request('/id/v1/watch/eventos?limite=500');
    const body = (await response.json()) as { data: { evento: string; datos: { ruc: string; campo: string } }[] };
    return body.data;
  }

  /** Looks up the company of a delivery, to see whether the API already shows the state that the delivery reports. */
  async check(delivery: Notice): Promise<Received> {
    const { evento, datos } = delivery.body as {
      evento: string;
      datos: { ruc: string; campo: string; despues: unknown; fecha_dato: string };
    };
    const { status, body } = await this.lookUp(datos.ruc);
    const shown = body.data?.[datos.campo];
    const sawNewState = evento === 'ruc.baja' ? status === 404 : status === 200 && shown === datos.despues;
    const list = listOfField[datos.campo];
    const date = list === undefined ? body.meta?.fecha_dato : body.meta?.fecha_padrones?.[list];
    return {
      evento,
      ruc: datos.ruc,
      campo: datos.campo,
      deliveryId: delivery.deliveryId ?? '',
      verified: delivery.verified,
      sawNewState: sawNewState && date === datos.fecha_dato,
    };
  }

  async #post<Answer>(path: string, body: unknown, status: number): Promise<Answer> {
    const response = await this.#request(path, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    const answer = (await response.json()) as Answer & { detail?: string };
    if (response.status !== status) throw new Error(`POST ${path} answered ${response.status}: ${answer.detail}`);
    return answer;
  }

  #request(path: string, options: RequestInit = {}): Promise<Response> {
    return fetch(`${this.#apiUrl}${path}`, {
      ...options,
      headers: { authorization: `Bearer ${this.#token}`, ...options.headers },
      signal: AbortSignal.timeout(20_000),
    });
  }
}
