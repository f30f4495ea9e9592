import { type AnswerOf, makeClient, PadronError } from '../../../api/client/client.ts';
import { capabilities } from '../../../schemas/http/account.ts';
import type { Notice } from './receiver.ts';
import type { Received } from './watched.ts';

export interface Lookup {
  status: number;
  /** The record, or the API's error document (RFC 9457) when the look-up was refused. */
  body: { data?: Record<string, unknown>; meta?: Partial<AnswerOf<'consultarRuc'>['meta']>; detail?: string };
}

/** The record's fields that come from SUNAT's two lists of taxpayers, each field with the register of its list. */
const listOfField: Readonly<Record<string, 'agentes_retencion' | 'buenos_contribuyentes'>> = {
  es_agente_retencion: 'agentes_retencion',
  es_buen_contribuyente: 'buenos_contribuyentes',
};

/** A customer of the service. He uses only the client of the public API, with his own token. */
export class Customer {
  readonly client: ReturnType<typeof makeClient>;
  readonly #baseUrl: string;

  constructor(baseUrl: string, token: string) {
    this.#baseUrl = baseUrl;
    this.client = makeClient({ baseUrl, token });
  }

  async createList(nombre: string, rucs: string[]): Promise<number> {
    const { id } = (await this.client.crearLista({ body: { nombre, referencia: 'demo' } })).data;
    await this.client.agregarRucs({ lista: String(id), body: { rucs } });
    return id;
  }

  async createWebhook(url: string): Promise<{ id: string; secreto: string }> {
    return (await this.client.crearWebhook({ body: { url } })).data;
  }

  /** Returns a link into the customer's console, with everything that a link can allow. It works once. */
  async makeConsoleLink(): Promise<string> {
    const { enlace } = (await this.client.crearEnlace({ body: { permisos: [...capabilities] } })).data;
    // Without a public address the service names only the path.
    return new URL(enlace, this.#baseUrl).href;
  }

  async lookUp(ruc: string): Promise<Lookup> {
    try {
      return { status: 200, body: await this.client.consultarRuc({ ruc }) };
    } catch (error) {
      if (!(error instanceof PadronError)) throw error;
      return { status: error.status, body: error.problem as Lookup['body'] };
    }
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
}
