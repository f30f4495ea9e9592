/**
 * Legal forms of Peruvian companies as they stand at the end of a name, written in words and by initials. Sources: Ley 26887
 * (general law of companies), D. Ley 21621 (E.I.R.L.), D. Leg. 1409 (S.A.C.S.), and how the registers write them.
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

/** What may follow a legal form. */
const endings: Readonly<Record<string, string>> = {
  'EN LIQUIDACION': 'EN LIQUIDACION',
  'SUCURSAL DEL PERU': 'SUCURSAL',
  'SUCURSAL PERU': 'SUCURSAL',
  'EN REESTRUCTURACION': 'EN REESTRUCTURACION',
};

// By the words run together, so that `S A C`, `SA C` and `SAC` are one; the longest wins, or SA would be cut off SAA.
const forms = new Map([...Object.entries(longForms), ...Object.entries(shortForms)].map(joined));
const tails = new Map(Object.entries(endings).map(joined));
const storedForms = [...new Set([...forms.values(), ...tails.values()])];
const longestRun = Math.max(...[...forms.keys(), ...tails.keys()].map((spelling) => spelling.length));
/** The registers cut a name at 100 characters, which may be inside its form; a space at the cut is dropped. */
const cutAt = 99;
/** Of a form that the cut left: enough to be no other word (`EMPRESA IN`dustrial, `SOCIEDAD A`gricola). */
const leastCutRun = 12;

function joined([words, form]: [string, string]): [string, string] {
  return [words.replaceAll(' ', ''), form];
}

/** Whether a word may be the beginning of a form as it is stored. */
export function mayBeginForm(word: string): boolean {
  return storedForms.some((form) => form.startsWith(word));
}

export interface NameAndForm {
  /** What remains; never empty where there were words. */
  words: readonly string[];
  /** `SAC`, `SAC EN LIQUIDACION`, …; empty: none. */
  form: string;
}

/**
 * Parts the legal form from the end of a name's folded words. `length` is that of the name as the register writes it: one
 * that was cut may end in the beginning of a form. A name that is nothing but a form keeps its words.
 */
export function splitLegalForm(words: readonly string[], length: number): NameAndForm {
  const tail = longestAtEnd(words, tails);
  const head = words.slice(0, words.length - tail.words);
  const known = longestAtEnd(head, forms);
  const found = known.words > 0 || tail.words > 0 || length < cutAt ? known : cutFormAtEnd(head);
  const rest = head.slice(0, head.length - found.words);
  if (rest.length === 0) return { words, form: '' };
  return { words: rest, form: [found.form, tail.form].filter((part) => part !== '').join(' ') };
}

interface AtEnd {
  words: number;
  form: string;
}

const none: AtEnd = { words: 0, form: '' };

function longestAtEnd(words: readonly string[], spellings: ReadonlyMap<string, string>): AtEnd {
  let run = '';
  let found = none;
  for (let taken = 1; taken <= words.length; taken += 1) {
    run = words[words.length - taken]! + run;
    if (run.length > longestRun) break;
    const form = spellings.get(run);
    if (form !== undefined) found = { words: taken, form };
  }
  return found;
}

function cutFormAtEnd(words: readonly string[]): AtEnd {
  let run = '';
  let found = none;
  for (let taken = 1; taken <= words.length; taken += 1) {
    run = words[words.length - taken]! + run;
    if (run.length > longestRun) break;
    if (run.length < leastCutRun) continue;
    const form = shortestThatBegins(run);
    if (form !== undefined) found = { words: taken, form };
  }
  return found;
}

/** Which form was cut is not known where several begin alike; its words go either way. */
function shortestThatBegins(run: string): string | undefined {
  let shortest: string | undefined;
  for (const spelling of forms.keys()) {
    if (spelling.startsWith(run) && spelling.length < (shortest?.length ?? Infinity)) shortest = spelling;
  }
  return shortest === undefined ? undefined : forms.get(shortest);
}
