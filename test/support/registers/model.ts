import { type RegisterName, registers } from '../../../schemas/registers.ts';
import { checkDigit } from '../../../schemas/ruc.ts';

/** A model of registers that keeps every edition whole, to check code that reads only their changes. */
export type ModelState = ReadonlyMap<string, readonly string[]>;

export interface ModelEdition {
  register: RegisterName;
  number: number;
  fechaDato: string;
  publication: ModelPublication;
  /** The edition that this one undoes. A correction has no publication. */
  corrects: number | null;
  /** True if the edition writes every row, changed or not. */
  isFull: boolean;
  state: ModelState;
}

export interface ModelPublication {
  sha256: string;
  fechaDato: string;
  /** The days on which the same bytes were published again. */
  repeats: string[];
  /** The last day on which the source declared the bytes current. */
  confirmed: string | null;
}

/** Pseudo-random numbers from 0 to below 1, the same for the same seed. */
export type Chance = () => number;

export function chanceOf(seed: number): Chance {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

const firstDay = Date.UTC(2026, 0, 1);
export const dayOf = (index: number): string => new Date(firstDay + index * 86_400_000).toISOString().slice(0, 10);

export function rucOf(prefix: string, index: number): string {
  const firstTen = `${prefix}${String(10_000_000 + index * 37).padStart(8, '0')}`;
  return `${firstTen}${checkDigit(firstTen)}`;
}

/** A random history of `editions` editions: publications, repeated ones, corrections and re-baselines. */
export function makeModel(
  register: RegisterName,
  rucs: readonly string[],
  editions: number,
  chance: Chance,
): ModelEdition[] {
  const made: ModelEdition[] = [];
  let day = Math.floor(chance() * 6);
  while (made.length < editions) {
    const head = made.at(-1);
    day += Math.floor(chance() * 3);
    const number = made.length + 1;
    const publication = { sha256: shaOf(register, number), fechaDato: dayOf(day), repeats: [], confirmed: null };
    const edition = { register, number, fechaDato: dayOf(day), publication, corrects: null, isFull: false };
    if (head === undefined)
      made.push({ ...edition, isFull: true, state: changed(new Map(), register, rucs, 0.6, chance) });
    else if (chance() < 0.2 && number > 2) made.push(correctionOf(made, chance));
    else {
      const state = changed(head.state, register, rucs, 0.15, chance);
      made.push({ ...edition, isFull: chance() < 0.1, state });
    }
    if (chance() < 0.3) {
      day += 1 + Math.floor(chance() * 2);
      made.at(-1)!.publication.repeats.push(dayOf(day));
    }
    if (chance() < 0.2) {
      day += 1 + Math.floor(chance() * 2);
      made.at(-1)!.publication.confirmed = dayOf(day);
    }
  }
  return made;
}

/** Undoes on the head's day the changes of an edition that no later one has replaced, by the product's rule. */
function correctionOf(made: readonly ModelEdition[], chance: Chance): ModelEdition {
  const head = made.at(-1)!;
  const days = [head.fechaDato, ...head.publication.repeats, head.publication.confirmed ?? ''];
  const fechaDato = days.sort().at(-1)!;
  const undone = made[1 + Math.floor(chance() * (made.length - 1))]!;
  const before = made[undone.number - 2]!.state;
  const state = new Map(head.state);
  for (const ruc of new Set([...before.keys(), ...undone.state.keys()])) {
    const [old, was, is] = [before.get(ruc), undone.state.get(ruc), state.get(ruc)].map((cells) =>
      JSON.stringify(cells),
    );
    if (old === was || is !== was) continue;
    if (old === undefined) state.delete(ruc);
    else state.set(ruc, JSON.parse(old) as string[]);
  }
  const { register, publication } = head;
  return { register, number: head.number + 1, fechaDato, publication, corrects: undone.number, isFull: false, state };
}

function changed(
  state: ModelState,
  register: RegisterName,
  rucs: readonly string[],
  share: number,
  chance: Chance,
): ModelState {
  const next = new Map(state);
  for (const ruc of rucs) {
    if (chance() >= share) continue;
    if (next.has(ruc) && chance() < 0.3) next.delete(ruc);
    else next.set(ruc, cellsOf(register, chance));
  }
  return next;
}

const pick = (texts: readonly string[], chance: Chance) => texts[Math.floor(chance() * texts.length)]!;

function cellsOf(register: RegisterName, chance: Chance): string[] {
  const texts: Record<string, readonly string[]> = {
    nombre: ['COMERCIAL UNO S.A.C.', 'COMERCIAL DOS S.A.C.', 'COMERCIAL "TRES" E.I.R.L.'],
    estado: ['ACTIVO', 'SUSPENSION TEMPORAL', 'BAJA DE OFICIO'],
    condicion: ['HABIDO', 'NO HABIDO'],
    ubigeo: ['150122', '150131', '-'],
    nombre_via: ['LOS PINOS', 'LAS FLORES', '-'],
    numero: ['10', '20', '-'],
    tipo: ['SOCIEDAD ANONIMA CERRADA', 'ASOCIACION', 'NO DISPONIBLE'],
    nro_trabajadores: ['0', '7', 'NO DISPONIBLE'],
    ciiu4_principal: ['VENTA', 'COMPRA', 'NO DISPONIBLE'],
    desde: ['2020-01-01', '2021-02-02'],
    resolucion: ['RS 1', 'RS 2'],
    tipo_id: ['RUC'],
    sanciones: ['A', 'B'].map((resolucion) =>
      JSON.stringify([{ nombre: 'X', desde: '2025-01-01', hasta: null, resolucion }]),
    ),
  };
  return registers[register].columns.map(({ name }) => pick(texts[name] ?? ['-'], chance));
}

function shaOf(register: RegisterName, number: number): string {
  return Buffer.from(`${registers[register].code}.${number}.`.padEnd(32, '0')).toString('hex');
}
