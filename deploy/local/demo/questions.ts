import { PadronError } from '../../../api/client/client.ts';
import { maskRuc } from '../../../schemas/ruc.ts';
import type { Chain } from './chain.ts';
import type { TwoDays } from './two-days.ts';

/** A request that was sent, and its answer in a few words. */
export interface Asked {
  about: string;
  request: string;
  answer: string;
  isExpected: boolean;
}

/** Sends a customer's typical requests with the client of the public API. Some requests are meant to be refused. */
export async function askAll(chain: Chain, days: TwoDays): Promise<Asked[]> {
  const padron = chain.customer.client;
  const { complete: ruc, barred, person, watched } = days;
  const fecha = days.first.files.find(({ register }) => register === 'padron_reducido')!.fechaDato;
  const gone = watched.find(({ expected }) => expected?.evento === 'ruc.baja')!.ruc;
  const mistyped = `${ruc.slice(0, 10)}${(Number(ruc[10]) + 1) % 10}`;
  const nombre = (await padron.consultarRuc({ ruc })).data.nombre;
  return [
    await ask('the day before', `GET /id/v1/ruc/${ruc}?fecha=${fecha}`, '200', async () => {
      const { data, meta } = await padron.consultarRuc({ ruc, fecha });
      return `es_agente_retencion ${data.es_agente_retencion}, data of ${meta.fecha_padrones.agentes_retencion}`;
    }),
    await ask('its history', `GET /id/v1/ruc/${ruc}/historial`, '200', async () => {
      const entry = (await padron.verHistorial({ ruc })).data[0];
      return `${entry?.fecha_dato} ${entry?.campo}: ${entry?.antes} → ${entry?.despues}`;
    }),
    await ask('by name', `GET /id/v1/ruc/buscar?q=${nombre.toLowerCase()}`, '200', async () => {
      const hit = (await padron.buscarEmpresas({ q: nombre.toLowerCase(), limite: 1 })).data[0];
      return `${hit?.ruc} first, coincidencia ${hit?.coincidencia}`;
    }),
    await ask('a supplier', `GET /id/v1/proveedor/${barred}`, '200', async () => {
      const { resultado, contrataciones_estado, advertencias } = (await padron.evaluarProveedor({ ruc: barred })).data;
      const codes = advertencias.map(({ codigo }) => codigo).join(', ');
      return `${resultado}: ${contrataciones_estado.resultado}, ${contrataciones_estado.sanciones.length} sanctions; ${codes}`;
    }),
    await ask('several at once', `POST /id/v1/ruc/batch  [${ruc}, ${gone}, ${mistyped}]`, '200', async () => {
      const { data, meta } = await padron.consultarLote({ body: { rucs: [ruc, gone, mistyped] } });
      return `encontrado ${data.map(({ encontrado }) => String(encontrado)).join(', ')}; cobrados ${meta.cobrados}`;
    }),
    await ask('gone since yesterday', `GET /id/v1/ruc/${gone}`, '404 ruc_no_encontrado', () =>
      padron.consultarRuc({ ruc: gone }),
    ),
    await ask('mistyped', `GET /id/v1/ruc/${mistyped}`, '400 ruc_digito_verificador', () =>
      padron.consultarRuc({ ruc: mistyped }),
    ),
    await ask('a natural person', `GET /id/v1/ruc/${maskRuc(person)}`, '403 contrato_requerido', () =>
      padron.consultarRuc({ ruc: person }),
    ),
    await ask('a deadline', 'GET /id/v1/calendario/plazo?desde=2026-07-24&dias=5&sector=publico', '200', async () => {
      const { vence, saltados } = (await padron.calcularPlazo({ desde: '2026-07-24', dias: 5, sector: 'publico' }))
        .data;
      return `vence ${vence}; ${saltados.length} days skipped`;
    }),
    await ask('taxes due next', `GET /id/v1/vencimientos/proximos?digito=${ruc[10]}`, '200', async () => {
      const next = (await padron.verProximosVencimientos({ digito: ruc[10]!, limite: 1 })).data[0];
      return `periodo ${next?.periodo}: vence ${next?.vence} (${next?.estado})`;
    }),
    await ask('what it cost', 'GET /id/v1/cuenta', '200', async () => {
      const { plan, cuota } = (await padron.verCuenta()).data;
      return `plan ${plan}: ${cuota.usada} of ${cuota.limite.toLocaleString('en')} look-ups of the month used`;
    }),
  ];
}

/** Sends one request. @param expected how the answer must begin: with its status, and the error code of a refusal */
async function ask(about: string, request: string, expected: string, send: () => Promise<unknown>): Promise<Asked> {
  const answer = await send().then(
    (gist) => `200 ${gist}`,
    (error: unknown) => {
      if (!(error instanceof PadronError)) throw error;
      return `${error.status} ${error.code}: ${error.message}`;
    },
  );
  return { about, request, answer, isExpected: answer.startsWith(expected) };
}
