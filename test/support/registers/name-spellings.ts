/**
 * Spellings of one part of a name. Any of them may be in the register, and all of them are typed. Every rule of
 * schemas/names/README.md has pieces here.
 */
type Piece = readonly string[];

export interface SpelledName {
  /** As the register writes it. */
  nombre: string;
  /** Equal for names that are the same by the rules, whatever their legal form. */
  identity: string;
  /** What people type, with the rule that makes the difference. */
  typed: readonly { rule: string; text: string }[];
}

const pick = <Item>(list: readonly Item[], luck: () => number): Item => list[Math.floor(luck() * list.length)]!;

const syllables = [
  'BRA',
  'CHI',
  'DOL',
  'FEN',
  'GUI',
  'HUA',
  'JAR',
  'KEL',
  'LLO',
  'MUR',
  'NIP',
  'ÑU',
  'PAZ',
  'QUI',
  'RO',
];
const made = ['TAL', 'VEN', 'WIS', 'YAU', 'ZUL', 'CO', 'PIR', 'SEM', 'TUN', 'VI'];

/** A word that few other names have. */
function brand(luck: () => number): string {
  return `${pick(syllables, luck)}${pick(made, luck)}${pick(syllables, luck)}${pick(made, luck)}`;
}

function apostrophe(luck: () => number): Piece {
  const [before, after] = luck() < 0.7 ? [pick(['D', 'L', 'O', 'N'], luck), brand(luck)] : [brand(luck), 'S'];
  const signs = ["'", '´', '`', '’', 'ʼ', "' ", ' ´ ', '', ' '];
  return signs.map((sign) => `${before}${sign}${after}`);
}

function initials(luck: () => number): Piece {
  const count = 2 + Math.floor(luck() * 3);
  const letters = Array.from({ length: count }, () => pick([...'ABCDFGHJKMNPRTVZ'], luck));
  const dotted = `${letters.join('.')}.`;
  return [
    dotted,
    letters.join(' '),
    letters.join(''),
    letters.join(' & '),
    `${letters.join('. ')}.`,
    letters.join('-'),
  ];
}

function abbreviation(luck: () => number): Piece {
  return pick(
    [
      ['MUNICIPALIDAD', 'MUN.', 'MUNI'],
      ['PROVINCIAL', 'PROV.'],
      ['DISTRITAL', 'DIST.'],
      ['ASOCIACION', 'ASOC.', 'Asociación'],
      ['COOPERATIVA', 'COOP'],
      ['SERVICIOS', 'SERV.'],
      ['GENERALES', 'GRALES'],
      ['COMPAÑIA', 'CIA.', 'compania'],
      ['HERMANOS', 'HNOS'],
      ['SANTA', 'STA.'],
      ['UNIVERSIDAD', 'UNIV'],
      ['INSTITUTO', 'INST.'],
      ['COMERCIAL', 'COMERC'],
      ['CONSTRUCTORA', 'CONST.'],
      ['INVERSIONES', 'INV', 'INVERS.'],
      ['TRANSPORTES', 'TRANSP.'],
      ['INDUSTRIAS', 'IND'],
      ['IMPORTACIONES', 'IMP.', 'IMPORT'],
      ['EXPORTACIONES', 'EXP'],
    ],
    luck,
  );
}

const connectors: Piece = ['', 'DE', 'DEL', 'DE LA', 'LOS', 'EL', '&', 'Y', 'EN'];
const forms: readonly Piece[] = [
  ['S.A.C.', 'SAC', 's a c', 'S. A. C.', 'sociedad anonima cerrada'],
  ['S.A.', 'SA', 's a', 'SOCIEDAD ANÓNIMA'],
  ['E.I.R.L.', 'EIRL', 'e i r l', 'empresa individual de responsabilidad limitada'],
  ['S.R.L.', 'SRL', 's r l', 'S.R.LTDA.', 'soc. com. de resp. ltda.', 'sociedad comercial de responsabilidad limitada'],
];

interface Part {
  rule: string;
  spellings: Piece;
}

/** The parts of one name, in order. Each name has a part of every kind at most twice. */
function partsOf(luck: () => number): Part[] {
  const parts: Part[] = [];
  const kind = luck();
  if (luck() < 0.4) parts.push({ rule: 'abbreviation', spellings: abbreviation(luck) });
  if (kind < 0.25) parts.push({ rule: 'apostrophe', spellings: apostrophe(luck) });
  else if (kind < 0.5) parts.push({ rule: 'initials', spellings: initials(luck) });
  else if (kind < 0.6) parts.push({ rule: 'plain', spellings: ['20 21 436', '20  21 436'] });
  else parts.push({ rule: 'plain', spellings: [brand(luck)] });
  if (luck() < 0.6) {
    parts.push({ rule: 'connector', spellings: connectors });
    parts.push({ rule: 'plain', spellings: [brand(luck)] });
    if (luck() < 0.3) parts.push({ rule: 'initials', spellings: initials(luck) });
  }
  parts.push({ rule: 'legal form', spellings: pick(forms, luck) });
  return parts;
}

/** Makes a name and its ways of writing: each part in all its spellings, and all parts in another one at once. */
export function spelledName(luck: () => number): SpelledName {
  const parts = partsOf(luck);
  const stored = parts.map(({ spellings }) => pick(spellings, luck));
  const written = (spellings: readonly string[]) => spellings.filter((part) => part !== '').join(' ');
  const typed = parts.flatMap(({ rule, spellings }, at) =>
    spellings.map((spelling) => ({ rule, text: written(stored.with(at, spelling)) })),
  );
  for (let times = 0; times < 3; times += 1)
    typed.push({ rule: 'several at once', text: written(parts.map(({ spellings }) => pick(spellings, luck))) });
  const named = parts.filter(({ rule }) => rule !== 'connector' && rule !== 'legal form');
  const identity = named.map(({ spellings }) => spellings[0]!.replace(/[^A-ZÑ0-9]/g, '')).join('');
  return { nombre: written(stored).toUpperCase(), identity: identity.replaceAll('Ñ', 'N'), typed };
}
