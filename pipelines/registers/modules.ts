import type { RegisterName } from '../../schemas/registers.ts';
import { agentesRetencionModule } from './agentes-retencion/module.ts';
import { buenosContribuyentesModule } from './buenos-contribuyentes/module.ts';
import { inhabilitacionesAdministrativasModule } from './inhabilitaciones-administrativas/module.ts';
import { inhabilitacionesJudicialesModule } from './inhabilitaciones-judiciales/module.ts';
import type { RegisterModule } from './module.ts';
import { padronMensualModule } from './padron-mensual/module.ts';
import { padronReducidoModule } from './padron-reducido/module.ts';
import { sancionadosModule } from './sancionados/module.ts';

/** Every register of the product, one line each. */
export const registerModules: Readonly<Record<RegisterName, RegisterModule>> = {
  padron_reducido: padronReducidoModule,
  padron_mensual: padronMensualModule,
  agentes_retencion: agentesRetencionModule,
  buenos_contribuyentes: buenosContribuyentesModule,
  sancionados: sancionadosModule,
  inhabilitaciones_judiciales: inhabilitacionesJudicialesModule,
  inhabilitaciones_administrativas: inhabilitacionesAdministrativasModule,
};
