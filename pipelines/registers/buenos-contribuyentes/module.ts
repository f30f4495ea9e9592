import type { RegisterModule } from '../module.ts';
import { taxpayerListFormat } from '../taxpayer-list/format.ts';
import { pageDate } from '../taxpayer-list/page-date.ts';

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
