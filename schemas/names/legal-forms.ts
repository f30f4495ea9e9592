/**
 * Legal forms at the end of Peruvian company names, written in words, each with the short form that is stored. The map
 * `shortForms` has the forms written as initials. Sources: Ley 26887 (companies), D. Ley 21621 (E.I.R.L.), D. Leg. 1409
 * (S.A.C.S.), and the registers' own spellings.
 */
const longForms: Readonly<Record<string, string>> = {
  'SOCIEDAD ANONIMA CERRADA SIMPLIFICADA': 'SACS',
  'SOCIEDAD POR ACCIONES CERRADA SIMPLIFICADA': 'SACS',
  'SOCIEDAD ANONIMA CERRADA': 'SAC',
  'SOCIEDAD ANONIMA ABIERTA': 'SAA',
  'SOCIEDAD ANONIMA': 'SA',
  'SOCIEDAD COMERCIAL DE RESPONSABILIDAD LIMITADA': 'SRL',
  'SOCIEDAD DE RESPONSABILIDAD LIMITADA': 'SRL',
  'EMPRESA INDIVIDUAL DE RESPONSABILIDAD LIMITADA': 'EIRL',
  'SOCIEDAD CIVIL DE RESPONSABILIDAD LIMITADA': 'SCIVIL',
  'SOCIEDAD CIVIL': 'SCIVIL',
  'SOCIEDAD EN COMANDITA': 'SENC',
};

/** Legal forms written as initials, without spaces. */
const shortForms: Readonly<Record<string, string>> = {
  SACS: 'SACS',
  SAC: 'SAC',
  SACERRADA: 'SAC',
  SAA: 'SAA',
  SA: 'SA',
  SRL: 'SRL',
  SRLTDA: 'SRL',
  SCRL: 'SRL',
  SCRLTDA: 'SRL',
  SOCRESPLTDA: 'SRL',
  SDERL: 'SRL',
  SDERLTDA: 'SRL',
  SCDERL: 'SRL',
  SCDERLTDA: 'SRL',
  EIRL: 'EIRL',
  EIRLTDA: 'EIRL',
  EIDERL: 'EIRL',
  EIRESPLTDA: 'EIRL',
  SCIVIL: 'SCIVIL',
  SOCIVIL: 'SCIVIL',
  SCIVILRL: 'SCIVIL',
  SCIVILDERL: 'SCIVIL',
};

/** Short spellings of words of `longForms`, each with the whole word. Some names lack DE, so DE stands for no word. */
const shortWords: Readonly<Record<string, string>> = {
  ANON: 'ANONIMA',
  COM: 'COMERCIAL',
  DE: '',
  EMP: 'EMPRESA',
  INDIV: 'INDIVIDUAL',
  LTDA: 'LIMITADA',
  LTD: 'LIMITADA',
  RESP: 'RESPONSABILIDAD',
  RES: 'RESPONSABILIDAD',
  SOC: 'SOCIEDAD',
};

/** Words that may follow a legal form, each with the text that is stored for them. */
const endings: Readonly<Record<string, string>> = {
  'EN LIQUIDACION': 'EN LIQUIDACION',
  'SUCURSAL DEL PERU': 'SUCURSAL',
  'SUCURSAL PERU': 'SUCURSAL',
  'EN REESTRUCTURACION': 'EN REESTRUCTURACION',
};

const written = new Map(Object.entries(shortWords));
const writtenOut = (word: string) => written.get(word) ?? word;

// Keys have no spaces, so `S A C`, `SA C` and `SAC` are one form.
const forms = new Map([...Object.entries(longForms), ...Object.entries(shortForms)].map(joined));
for (const [words, form] of Object.entries(longForms)) forms.set(words.split(' ').map(writtenOut).join(''), form);
const tails = new Map(Object.entries(endings).map(joined));
const storedForms = [...new Set([...forms.values(), ...tails.values()])];
const longestRun = Math.max(...[...forms.keys(), ...tails.keys()].map((spelling) => spelling.length));
/**
 * A name with this many characters or more may be cut inside its legal form. The registers cut a name at 100
 * characters. If the 100th is a space, they drop this space, so the name has 99.
 */
const cutAt = 99;
/**
 * The end of a long name counts as a cut legal form only if it has this many letters. A shorter end may be other words.
 * For example, `SOCIEDAD A` may begin SOCIEDAD AGRICOLA.
 */
const leastCutRun = 12;

function joined([words, form]: [string, string]): [string, string] {
  return [words.replaceAll(' ', ''), form];
}

/** Whether a word may be the beginning of a legal form in its stored spelling, as `SA` is of `SAC`. */
export function mayBeginForm(word: string): boolean {
  return storedForms.some((form) => form.startsWith(word));
}

export interface NameAndForm {
  /** The words before the form, or all words if the name is only a form. */
  words: readonly string[];
  /** The legal form, for example `SAC` or `SAC EN LIQUIDACION`. Empty: the name has no form. */
  form: string;
}

/**
 * Separates the legal form at the end of a name from the words before it. A name that is only a form keeps its words.
 * @param words the name's words in capitals without accents, as foldName() makes them
 * @param length number of characters of the name in the register, because a long name may be cut inside its form
 */
export function splitLegalForm(words: readonly string[], length: number): NameAndForm {
  const tail = longestAtEnd(words, tailOf);
  const head = words.slice(0, words.length - tail.words);
  const known = longestAtEnd(head, formOf);
  const found = known.words > 0 || tail.words > 0 || length < cutAt ? known : longestAtEnd(head, cutForm);
  const rest = head.slice(0, head.length - found.words);
  if (rest.length === 0) return { words, form: '' };
  return { words: rest, form: [found.form, tail.form].filter((part) => part !== '').join(' ') };
}

interface AtEnd {
  words: number;
  form: string;
}

/**
 * Returns the legal form that the words at the end of a name stand for. Undefined if they are no legal form.
 * @param run the words, joined without spaces
 * @param out the same, with each abbreviated word written out; null if no word is abbreviated
 */
type FormOf = (run: string, out: string | null) => string | undefined;

/** Finds the longest run of words at the end of the name for which `formOf` knows a form. */
function longestAtEnd(words: readonly string[], formOf: FormOf): AtEnd {
  let run = '';
  let out = '';
  let isChanged = false;
  let found: AtEnd = { words: 0, form: '' };
  for (let taken = 1; taken <= words.length; taken += 1) {
    const word = words[words.length - taken]!;
    run = word + run;
    if (run.length > longestRun) break;
    const longer = writtenOut(word);
    isChanged ||= longer !== word;
    out = longer + out;
    // `writtenOut` leaves a DE out, so DE and a form would count as the form. But a DE before the form is a word of the
    // name, so a run that begins with DE is no form.
    const form = longer === '' ? undefined : formOf(run, isChanged ? out : null);
    if (form !== undefined) found = { words: taken, form };
  }
  return found;
}

const formOf: FormOf = (run, out) => forms.get(run) ?? (out === null ? undefined : forms.get(out));
const tailOf: FormOf = (run) => tails.get(run);

/** Returns the legal form whose spelling may have been cut to `run`. Among several, the shortest spelling counts. */
function cutForm(run: string): string | undefined {
  if (run.length < leastCutRun) return undefined;
  let shortest: string | undefined;
  for (const spelling of forms.keys()) {
    if (spelling.startsWith(run) && spelling.length < (shortest?.length ?? Infinity)) shortest = spelling;
  }
  return shortest === undefined ? undefined : forms.get(shortest);
}
