import type { RegisterModule } from '../module.ts';
import { cutDate } from '../supplier-bars/cut-date.ts';
import { supplierBarsFormat } from '../supplier-bars/format.ts';
import { tribunalLayout } from '../supplier-bars/layouts.ts';

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
