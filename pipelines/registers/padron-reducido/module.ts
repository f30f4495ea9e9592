import type { RegisterModule } from '../module.ts';
import { padronReducidoFormat } from './format.ts';
import { dateFromLandingPage } from './source.ts';

/** The daily register: every taxpayer. Nothing inside the file says its day. */
export const padronReducidoModule: RegisterModule = {
  register: 'padron_reducido',
  source: {
    url: 'https://www2.sunat.gob.pe/padron_reducido_ruc.zip',
    pageUrl: 'https://www.sunat.gob.pe/descargaPRR/mrc137_padron_reducido.html',
    container: { kind: 'zip', entry: /\.txt$/i },
    date: { from: 'last_modified', orPage: dateFromLandingPage },
  },
  format: padronReducidoFormat,
};
