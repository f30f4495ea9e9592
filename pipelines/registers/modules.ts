import type { RegisterName } from '../../schemas/registers.ts';
import type { RegisterModule } from './module.ts';
import { padronMensualModule } from './padron-mensual.ts';
import { padronReducidoModule } from './padron-reducido.ts';
import {
  type BarLayout,
  cutDate,
  judicialExportLayout,
  judicialLayout,
  supplierBarsFormat,
  tribunalLayout,
} from './supplier-bars.ts';
import { pageDate, taxpayerListFormat } from './taxpayer-list.ts';

/** One of SUNAT's taxpayer lists: a zip in the site's folder for lists, and a page with the day of the last update. */
function taxpayerList(
  register: 'agentes_retencion' | 'buenos_contribuyentes',
  { file, page, entry }: { file: string; page: string; entry: RegExp },
): RegisterModule {
  const folder = 'https://www.sunat.gob.pe/descarga';
  return {
    register,
    source: {
      url: `${folder}/${file}`,
      pageUrl: `${folder}/${page}`,
      container: { kind: 'zip', entry, name: entry, start: /^Ruc\|/i },
      date: { from: 'page', read: (html) => pageDate(html, register, new Date()) },
    },
    format: taxpayerListFormat,
  };
}

/**
 * Makes the module of one of the procurement agency's files of barred suppliers. A new release of the site gets another
 * hexadecimal folder in the URL. An operator must then put the new address into the setting SOURCE_<REGISTER>_URL.
 */
function supplierBars(register: RegisterName, path: string, layouts: readonly BarLayout[]): RegisterModule {
  return {
    register,
    source: {
      url: `https://conosce.osce.gob.pe/buscador/assets/67ae6c4a/reportes/${path}`,
      pageUrl: null,
      container: { kind: 'plain' },
      date: { from: 'text', read: (start) => cutDate(start, new Date()) },
    },
    format: supplierBarsFormat(layouts),
  };
}

export const registerModules: Readonly<Record<RegisterName, RegisterModule>> = {
  padron_reducido: padronReducidoModule,
  padron_mensual: padronMensualModule,
  agentes_retencion: taxpayerList('agentes_retencion', {
    file: 'AgentRet/AgenRet_TXT.zip',
    page: 'AgentRet/AgenRet0.html',
    entry: /^AgenRet_TXT\.txt$/i,
  }),
  buenos_contribuyentes: taxpayerList('buenos_contribuyentes', {
    file: 'BueCont/BueCont_TXT.zip',
    page: 'BueCont/BueCont0.html',
    entry: /^BueCont_TXT\.txt$/i,
  }),
  sancionados: supplierBars('sancionados', 'sancionados/sancionados.csv', [tribunalLayout]),
  inhabilitaciones_judiciales: supplierBars(
    'inhabilitaciones_judiciales',
    'inhabilitaciones/inhabilitaciones_judiciales.csv',
    [judicialLayout, judicialExportLayout],
  ),
  // We have never seen this file, so it may have any known header. A file with another header waits for an operator.
  inhabilitaciones_administrativas: supplierBars(
    'inhabilitaciones_administrativas',
    'inhabilitaciones/inhabilitaciones_administrativas.csv',
    [tribunalLayout, judicialLayout, judicialExportLayout],
  ),
};
