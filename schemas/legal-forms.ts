/**
 * Legal forms of Peruvian companies at the end of a name, here in words and below by initials, each with its stored
 * form. Sources: Ley 26887 (general law of companies), D. Ley 21621 (E.I.R.L.), D. Leg. 1409 (S.A.C.S.), and the
 * registers' own spellings.
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

const shortForms: Readonly<Record<string, string>> = {
  SACS: 'SACS',
  SAC: 'SAC',
  SAA: 'SAA',
  SA: 'SA',
  SRL: 'SRL',
  SRLTDA: 'SRL',
  SCRL: 'SRL',
  SCRLTDA: 'SRL',
  SOCRESPLTDA: 'SRL',
  EIRL: 'EIRL',
  EIRLTDA: 'EIRL',
  EIRESPLTDA: 'EIRL',
  SCIVIL: 'SCIVIL',
  SOCIVIL: 'SCIVIL',
  SCIVILRL: 'SCIVIL',
  SCIVILDERL: 'SCIVIL',
};

/** Words that may follow a legal form. */
const endings: Readonly<Record<string, string>> = {
  'EN LIQUIDACION': 'EN LIQUIDACION',
  'SUCURSAL DEL PERU': 'SUCURSAL',
  'SUCURSAL PERU': 'SUCURSAL',
  'EN REESTRUCTURACION': 'EN REESTRUCTURACION',
};

// Keys have no spaces, so `S A C`, `SA C` and `SAC` are one form. The longest match wins, or SA would match in SAA.
const forms = new Map([...Object.entries(longForms), ...Object.entries(shortForms)].map(joined));
const tails = new Map(Object.entries(endings).map(joined));
const storedForms = [...new Set([...forms.values(), ...tails.values()])];
const longestRun = Math.max(...[...forms.keys(), ...tails.keys()].map((spelling) => spelling.length));
/** The registers cut a name at 100 characters, maybe inside its form, and also drop a space at the cut. */
const cutAt = 99;
/** Least number of letters of a cut form. Fewer letters may begin another word (`SOCIEDAD A`gricola). */
const leastCutRun = 12;

function joined([words, form]: [string, string]): [string, string] {
  return [words.replaceAll(' ', ''), form];
}

/** Whether a word may be the beginning of a stored form. */
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
 * Separates the legal form at the end of a name's folded words. A name that is only a form keeps its words.
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

/** Finds the form with the most words at the end of the name. */
function longestAtEnd(words: readonly string[], formOf: (run: string) => string | undefined): AtEnd {
  let run = '';
  let found: AtEnd = { words: 0, form: '' };
  for (let taken = 1; taken <= words.length; taken += 1) {
    run = words[words.length - taken]! + run;
    if (run.length > longestRun) break;
    const form = formOf(run);
    if (form !== undefined) found = { words: taken, form };
  }
  return found;
}

const formOf = (run: string) => forms.get(run);
const tailOf = (run: string) => tails.get(run);

/** Takes the shortest form if several begin with the cut text. The text is removed from the name in any case. */
function cutForm(run: string): string | undefined {
  if (run.length < leastCutRun) return undefined;
  let shortest: string | undefined;
  for (const spelling of forms.keys()) {
    if (spelling.startsWith(run) && spelling.length < (shortest?.length ?? Infinity)) shortest = spelling;
  }
  return shortest === undefined ? undefined : forms.get(shortest);
}
