import type { ApiDependencies } from '../../dependencies.ts';
import { confirmPath } from '../admission.tsx';
import { account, anyone, type FormRule, type PageRow } from '../page.ts';
import type { Site } from '../sessions/cookies.ts';
import { linkPath } from '../sessions/links.ts';
import { makeCompanyPage } from './companies/company.tsx';
import { makeHistoryPage } from './companies/history.tsx';
import { makeSearchPage, makeSuggestionsPage } from './companies/search.tsx';
import { makeEvidencePage, makeSupplierPage } from './companies/supplier.tsx';
import { makeLinkPage } from './links.tsx';
import { makeNoticesPage } from './notices.tsx';
import { makeOverviewPage } from './overview.tsx';
import { makeConfirmPage, makeSignOutPage } from './sign-in.tsx';
import { makeTokensPage } from './tokens.tsx';
import { makeDeliveriesPage, makeDeliveryPage } from './watch/deliveries.tsx';
import { makeDoctorPage } from './watch/doctor.tsx';
import { makeEditionChangesPage, makeEventsPage, makeFollowEventsPage } from './watch/events.tsx';
import { makeExportPage, makeListPage } from './watch/list.tsx';
import { makeListsPage } from './watch/lists.tsx';
import { makeRecoveriesPage, makeRecoveryPage } from './watch/recoveries.tsx';
import { makeWebhookPage } from './watch/webhook.tsx';
import { makeChangeWebhookPage, makeNewWebhookPage } from './watch/webhook-form.tsx';
import { makeWebhooksPage } from './watch/webhooks.tsx';

const look = { needs: ['ver'] } satisfies FormRule;
const manage = { needs: ['gestionar_webhooks'], plan: 'crecimiento' } satisfies FormRule;
const secrets = { needs: ['ver_secretos'], plan: 'crecimiento', isConfirmed: true } satisfies FormRule;
const resend = { needs: ['reenviar'], plan: 'crecimiento' } satisfies FormRule;
const tokens = { needs: ['gestionar_tokens'] } satisfies FormRule;
const remove = { isConfirmed: true } as const;
/** Watching can still be read by an account that has lists from a former plan. */
const watch = { plan: 'crecimiento_or_lists' } as const;

/**
 * The pages of the console with what each of them and each of its forms asks for. The plans are those of the operations
 * of the API that a page stands for. Fixed paths come before paths with a parameter.
 */
export function makeConsolePages(dependencies: ApiDependencies & { site: Site }): readonly PageRow[] {
  const webhook = '/consola/webhooks/{webhook}';
  return [
    account('/consola/resumen', makeOverviewPage(dependencies), { menu: 'Resumen', forms: { terminar: tokens } }),
    account('/consola/empresas', makeSearchPage(dependencies), { menu: 'Empresas', plan: 'micro', isLookUp: true }),
    account('/consola/empresas/sugerencias', makeSuggestionsPage(dependencies), { plan: 'micro', isLookUp: true }),
    account('/consola/empresas/{ruc}', makeCompanyPage(dependencies), { isLookUp: true }),
    account('/consola/empresas/{ruc}/historial', makeHistoryPage(dependencies), { plan: 'micro', isLookUp: true }),
    account('/consola/empresas/{ruc}/proveedor', makeSupplierPage(dependencies), {
      isLookUp: true,
      forms: { evaluar: look },
    }),
    account('/consola/proveedores/{consulta_id}', makeEvidencePage(dependencies)),

    account('/consola/eventos', makeEventsPage(dependencies), { menu: 'Eventos', ...watch }),
    account('/consola/eventos/en-vivo', makeFollowEventsPage(dependencies), { plan: 'crecimiento' }),
    account('/consola/ediciones/{registro}/{numero}/cambios', makeEditionChangesPage(dependencies), {
      plan: 'empresa',
      isLookUp: true,
    }),
    account('/consola/listas', makeListsPage(dependencies), { menu: 'Listas', ...watch, forms: { crear: manage } }),
    account('/consola/listas/{lista}', makeListPage(dependencies), {
      ...watch,
      forms: { agregar: manage, quitar: manage, borrar: { ...manage, ...remove } },
    }),
    account('/consola/listas/{lista}/exportar', makeExportPage(dependencies), watch),
    account('/consola/webhooks', makeWebhooksPage(dependencies), { menu: 'Webhooks', ...watch }),
    account('/consola/webhooks/nuevo', makeNewWebhookPage(dependencies), {
      plan: 'crecimiento',
      isConfirmed: true,
      forms: { crear: { ...secrets, needs: ['gestionar_webhooks', 'ver_secretos'] } },
    }),
    account(webhook, makeWebhookPage(dependencies), {
      ...watch,
      forms: {
        probar: manage,
        pausar: manage,
        reanudar: manage,
        rotar: secrets,
        borrar: { ...manage, ...remove },
      },
    }),
    account(`${webhook}/cambiar`, makeChangeWebhookPage(dependencies), { ...watch, forms: { cambiar: manage } }),
    account(`${webhook}/entregas`, makeDeliveriesPage(dependencies), watch),
    account(`${webhook}/recuperaciones`, makeRecoveriesPage(dependencies), { ...watch, forms: { contar: resend } }),
    account(`${webhook}/recuperaciones/{recuperacion}`, makeRecoveryPage(dependencies), {
      ...watch,
      forms: { empezar: resend, cancelar: resend },
    }),
    account('/consola/entregas/{entrega}', makeDeliveryPage(dependencies), { ...watch, forms: { reenviar: resend } }),
    account('/consola/firmas', makeDoctorPage(dependencies), { ...watch, forms: { revisar: look } }),
    account('/consola/avisos', makeNoticesPage(dependencies), watch),

    account('/consola/tokens', makeTokensPage(dependencies), {
      menu: 'Tokens',
      forms: {
        crear: { ...tokens, isConfirmed: true },
        revocar: { ...tokens, ...remove },
        enlazar: { ...tokens, isConfirmed: true },
        anular: tokens,
      },
    }),
    anyone(linkPath, makeLinkPage(dependencies)),
    account(confirmPath, makeConfirmPage(dependencies), { forms: { confirmar: look } }),
    account('/consola/salir', makeSignOutPage(dependencies), { forms: { salir: look } }),
  ];
}
