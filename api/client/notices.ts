import type { EventPayload } from '../../schemas/http/events.ts';
import type { EventKind } from '../../schemas/registers.ts';

/** What changed, by kind. Texts are as a look-up shows them; null: nothing stood there. */
interface Changes {
  'ruc.estado_cambiado': { campo: 'estado'; antes: string | null; despues: string | null };
  'ruc.condicion_cambiada': { campo: 'condicion'; antes: string | null; despues: string | null };
  'ruc.nombre_cambiado': { campo: 'nombre'; antes: string | null; despues: string | null };
  'ruc.agente_retencion_cambiado': { campo: 'es_agente_retencion'; antes: boolean; despues: boolean };
  'ruc.buen_contribuyente_cambiado': { campo: 'es_buen_contribuyente'; antes: boolean; despues: boolean };
  'ruc.alta': { campo: 'ruc'; antes: null; despues: string };
  'ruc.baja': { campo: 'ruc'; antes: string; despues: null };
}

type ChangeNotice<Kind extends EventKind> = Omit<EventPayload, 'evento' | 'datos'> & {
  evento: Kind;
  datos: Pick<EventPayload['datos'], 'ruc' | 'fecha_dato'> & Changes[Kind];
};

/** The test of an endpoint that its owner asked for: it is about no company and no list. */
export interface PingNotice {
  id: string;
  evento: 'ping';
  ocurrido_en: string;
  datos: null;
  watchlist: null;
}

/** What a receiver is sent. `evento` tells the kinds apart; v1 may gain others, so let what you do not know pass with a 2xx. */
export type NoticePayload = { [Kind in EventKind]: ChangeNotice<Kind> }[EventKind] | PingNotice;
