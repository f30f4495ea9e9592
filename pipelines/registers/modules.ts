import type { RegisterName } from '../../schemas/registers.ts';
import type { RegisterModule } from './module.ts';
import { padronMensualModule } from './padron-mensual.ts';
import { padronReducidoModule } from './padron-reducido.ts';
import {
  agentesRetencionModule,
  buenosContribuyentesModule,
  inhabilitacionesAdministrativasModule,
  inhabilitacionesJudicialesModule,
  sancionadosModule,
} from './sources.ts';

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
