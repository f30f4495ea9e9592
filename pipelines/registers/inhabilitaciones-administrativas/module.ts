import type { RegisterModule } from '../module.ts';
import { cutDate } from '../supplier-bars/cut-date.ts';
import { supplierBarsFormat } from '../supplier-bars/format.ts';
import { judicialExportLayout, judicialLayout, tribunalLayout } from '../supplier-bars/layouts.ts';

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
