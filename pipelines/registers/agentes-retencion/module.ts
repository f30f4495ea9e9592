import type { RegisterModule } from '../module.ts';
import { taxpayerListFormat } from '../taxpayer-list/format.ts';
import { pageDate } from '../taxpayer-list/page-date.ts';

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
