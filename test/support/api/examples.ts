import type { OperationName } from '../../../api/operations.ts';
import { barred, company, person, publicUrl, unknownCompany } from './loaded-api.ts';

/** The requests of the document's examples. `$…` stands for an id from an earlier answer. */
export interface ExampleRequest {
  parameters?: Record<string, string>;
  query?: Record<string, string>;
  body?: unknown;
}

// The order matters: each request works on what the earlier ones left.
export const exampleRequests: Readonly<Record<OperationName, ExampleRequest>> = {
  consultarRuc: { parameters: { ruc: company } },
  buscarEmpresas: { query: { q: 'comercial prueba' } },
  verHistorial: { parameters: { ruc: company } },
  consultarLote: { body: { rucs: [company, unknownCompany, '20990000018', person] } },
  evaluarProveedor: { parameters: { ruc: barred }, query: { inhabilitado_al: '2026-11-26' } },
  verConsultaDeProveedor: { parameters: { consulta_id: '$consulta_id' } },
  verFeriados: { parameters: { anio: '2026' } },
  calcularPlazo: { query: { desde: '2026-07-24', dias: '3', sector: 'publico' } },
  verDia: { parameters: { fecha: '2026-07-28' } },
  verProximosVencimientos: { query: { digito: '0', desde: '2026-01-01', limite: '2' } },
  verVencimientos: { parameters: { anio: '2026' } },
  suscribirFeriados: {},
  suscribirVencimientos: { query: { digito: '0' } },
  verEdiciones: { query: { registro: 'padron_reducido' } },
  descargarCambios: { parameters: { registro: 'padron_reducido', numero: '2' } },
  verCuenta: {},
  crearEnlace: { body: { permisos: ['reenviar'], para: 'Soporte', horas: 24 } },
  crearLista: { body: { nombre: 'Proveedores', referencia: 'erp-7' } },
  verListas: {},
  verLista: { parameters: { lista: '$lista' } },
  cambiarLista: { parameters: { lista: '$lista' }, body: { referencia: 'erp-8' } },
  agregarRucs: { parameters: { lista: '$lista' }, body: { rucs: [company, unknownCompany, '20990000018'] } },
  verRucs: { parameters: { lista: '$lista' } },
  verEventos: { query: { desde: '2026-11-26', evento: 'ruc.estado_cambiado' } },
  quitarRuc: { parameters: { lista: '$lista', ruc: unknownCompany } },
  crearWebhook: { body: { url: publicUrl, eventos: ['ruc.estado_cambiado', 'ruc.baja'] } },
  verWebhooks: {},
  verWebhook: { parameters: { webhook: '$webhook' } },
  cambiarWebhook: { parameters: { webhook: '$webhook' }, body: { descripcion: 'ERP de compras', en_vuelo: 5 } },
  probarWebhook: { parameters: { webhook: '$webhook' } },
  verEntregas: { parameters: { webhook: '$webhook' } },
  verEntrega: { parameters: { entrega: '$entrega' } },
  reenviarEntrega: { parameters: { entrega: '$entrega' } },
  crearRecuperacion: {
    parameters: { webhook: '$webhook' },
    body: { desde: '2026-11-26T00:00:00-05:00', hasta: '2026-11-26T23:59:59-05:00' },
  },
  verRecuperacion: { parameters: { webhook: '$webhook', recuperacion: '$recuperacion' } },
  cancelarRecuperacion: { parameters: { webhook: '$webhook', recuperacion: '$recuperacion' } },
  cambiarSecreto: { parameters: { webhook: '$webhook' }, body: { gracia_horas: 24 } },
  seguirEventos: {},
  pausarWebhook: { parameters: { webhook: '$webhook' } },
  reanudarWebhook: { parameters: { webhook: '$webhook' }, body: { pendientes: 'ninguno' } },
  verAvisos: {},
  borrarWebhook: { parameters: { webhook: '$webhook' } },
  borrarLista: { parameters: { lista: '$lista' } },
};

export function targetOf(path: string, { parameters = {}, query }: ExampleRequest): string {
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(parameters[name] ?? ''));
  return query === undefined ? filled : `${filled}?${new URLSearchParams(query)}`;
}
