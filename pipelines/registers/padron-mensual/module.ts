import type { RegisterModule } from '../module.ts';
import { dateOfText, padronMensualFormat } from './format.ts';

/** SUNAT's monthly open data on the national portal: a subset of the taxpayers, in columns the daily register lacks. */
export const padronMensualModule: RegisterModule = {
  register: 'padron_mensual',
  source: {
    url: 'https://www.datosabiertos.gob.pe/sites/default/files/PadronRUC_{AAAAMM}.zip',
    pageUrl: null,
    // The portal calls it csv; its bytes are a zip.
    container: { kind: 'zip', entry: /\.csv$/i },
    date: { from: 'text', read: dateOfText },
  },
  format: padronMensualFormat,
};
