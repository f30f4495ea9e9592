import type { ComponentChildren } from 'preact';
import type { PublicationState } from '../../../pipelines/editions/publications.ts';
import type { RegisterName } from '../../../schemas/registers.ts';

// Words and small parts that the operators' pages share.

export const registerTitles: Readonly<Record<RegisterName, string>> = {
  padron_reducido: 'Padrón reducido del RUC',
  padron_mensual: 'Padrón mensual del RUC',
  agentes_retencion: 'Agentes de retención',
  buenos_contribuyentes: 'Buenos contribuyentes',
  sancionados: 'Proveedores sancionados',
  inhabilitaciones_judiciales: 'Inhabilitaciones judiciales',
  inhabilitaciones_administrativas: 'Inhabilitaciones administrativas',
};

const states: Readonly<Record<PublicationState, string>> = {
  detectada: 'detectada',
  descargada: 'descargada',
  verificada: 'verificada',
  comparada: 'comparada',
  publicando: 'publicándose',
  publicada: 'publicada',
  en_cuarentena: 'en cuarentena',
  rechazada: 'rechazada',
  repetida: 'repetida',
  sustituida: 'sustituida',
};

export function stateName(state: PublicationState): string {
  return states[state];
}

type Tone = 'good' | 'warn' | 'bad' | 'plain';

/** A state in words. The colour only helps. */
export function Status({ tone = 'plain', children }: { tone?: Tone; children: ComponentChildren }) {
  return <span class={`status ${tone}`}>{children}</span>;
}

export function PublicationStatus({ state }: { state: PublicationState }) {
  const tone = state === 'en_cuarentena' ? 'warn' : state === 'publicada' ? 'good' : 'plain';
  return <Status tone={tone}>{stateName(state)}</Status>;
}

/** What the command line says, which is English. */
export function CommandWords({ children }: { children: string }) {
  return (
    <span class="quiet" lang="en">
      ({children})
    </span>
  );
}

/** The time since `at`: in minutes below two hours, in hours below three days, else in days. */
export function ago(at: Date | null, now: Date): string {
  if (at === null) return 'nunca';
  const minutes = Math.max(0, Math.floor((now.getTime() - at.getTime()) / 60_000));
  if (minutes < 120) return `hace ${minutes} min`;
  if (minutes < 72 * 60) return `hace ${Math.floor(minutes / 60)} h`;
  return `hace ${Math.floor(minutes / 1_440)} días`;
}

export function Empty({ children }: { children: ComponentChildren }) {
  return <p class="quiet">{children}</p>;
}
