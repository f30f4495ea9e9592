import type { RegisterModule } from './module.ts';
import { cutDate, supplierBarsFormat } from './supplier-bars.ts';
import { judicialExportLayout, judicialLayout, tribunalLayout } from './supplier-bars-layouts.ts';
import { pageDate, taxpayerListFormat } from './taxpayer-list.ts';

export const agentesRetencionModule: RegisterModule = {
  register: 'agentes_retencion',
  source: {
    url: 'https://www.sunat.gob.pe/descarga/AgentRet/AgenRet_TXT.zip',
    pageUrl: 'https://www.sunat.gob.pe/descarga/AgentRet/AgenRet0.html',
    container: { kind: 'zip', entry: /^AgenRet_TXT\.txt$/i },
    date: { from: 'page', read: (html) => pageDate(html, 'agentes_retencion', new Date()) },
  },
  format: taxpayerListFormat,
};

export const buenosContribuyentesModule: RegisterModule = {
  register: 'buenos_contribuyentes',
  source: {
    url: 'https://www.sunat.gob.pe/descarga/BueCont/BueCont_TXT.zip',
    pageUrl: 'https://www.sunat.gob.pe/descarga/BueCont/BueCont0.html',
    container: { kind: 'zip', entry: /^BueCont_TXT\.txt$/i },
    date: { from: 'page', read: (html) => pageDate(html, 'buenos_contribuyentes', new Date()) },
  },
  format: taxpayerListFormat,
};

// No bytes of this file were seen: it is read with whichever known header it has, and any other header goes to an operator.
export const inhabilitacionesAdministrativasModule: RegisterModule = {
  register: 'inhabilitaciones_administrativas',
  source: {
    // The hexadecimal folder changes with the site's releases.
    url: 'https://conosce.osce.gob.pe/buscador/assets/67ae6c4a/reportes/inhabilitaciones/inhabilitaciones_administrativas.csv',
    pageUrl: null,
    container: { kind: 'plain' },
    date: { from: 'text', read: (start) => cutDate(start, new Date()) },
  },
  format: supplierBarsFormat([tribunalLayout, judicialLayout, judicialExportLayout]),
};

export const inhabilitacionesJudicialesModule: RegisterModule = {
  register: 'inhabilitaciones_judiciales',
  source: {
    // The hexadecimal folder changes with the site's releases.
    url: 'https://conosce.osce.gob.pe/buscador/assets/67ae6c4a/reportes/inhabilitaciones/inhabilitaciones_judiciales.csv',
    pageUrl: null,
    container: { kind: 'plain' },
    date: { from: 'text', read: (start) => cutDate(start, new Date()) },
  },
  format: supplierBarsFormat([judicialLayout, judicialExportLayout]),
};

export const sancionadosModule: RegisterModule = {
  register: 'sancionados',
  source: {
    // The hexadecimal folder changes with the site's releases.
    url: 'https://conosce.osce.gob.pe/buscador/assets/67ae6c4a/reportes/sancionados/sancionados.csv',
    pageUrl: null,
    container: { kind: 'plain' },
    date: { from: 'text', read: (start) => cutDate(start, new Date()) },
  },
  format: supplierBarsFormat([tribunalLayout]),
};
