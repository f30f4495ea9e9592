/**
 * The list of Peru's place names with the codes of the national statistics institute (INEI). A department's code has
 * two digits, a province's four and a district's six. Codes are text, because a leading zero is part of a code.
 * ubigeo/README.md names the source of the list.
 */
export const ubigeoListUrl = new URL('./ubigeo/inei-2025.csv', import.meta.url);

export interface UbigeoNames {
  departamento: string;
  provincia: string;
  distrito: string;
}

/** The names of each district by its code, also by a code that only another year's list has. */
export type UbigeoCatalogue = ReadonlyMap<string, UbigeoNames>;

/** Districts that our list lacks and another year's list has, with their names there. README.md has our list's year. */
const otherYears: Readonly<Record<string, string>> = { '150144': 'Santa Maria de Huachipa' };

/**
 * Former codes of districts that the list has under another code. Putumayo and Teniente Manuel Clavero were districts
 * of Maynas until they became a province. No other code is replaced. Some lists shift Tayacaja's codes by one or drop a
 * leading zero; both are wrong.
 */
const formerCodes: Readonly<Record<string, string>> = { '160109': '160801', '160114': '160803' };

/**
 * Reads the lines `codigo;nombre` after a header. Names become upper case, like the registers' own texts, and keep
 * their accents (`ÁNCASH`).
 * @throws Error when a line is malformed, or a district's province or department is missing
 */
export function readUbigeoCatalogue(text: string): UbigeoCatalogue {
  const names = new Map<string, string>();
  const lines = text.split('\n').slice(1);
  for (const line of lines.filter((each) => each !== '')) {
    const [, code, name] = /^((?:[0-9]{2}){1,3});(\S.*)$/.exec(line) ?? [];
    if (code === undefined || name === undefined) throw new Error(`the ubigeo list has a malformed line: ${line}`);
    names.set(code, name.toLocaleUpperCase('es'));
  }
  for (const [code, name] of Object.entries(otherYears)) names.set(code, name.toLocaleUpperCase('es'));
  const codes = [...names.keys()].filter((code) => code.length === 6);
  const districts = codes.map((code): [string, UbigeoNames] => [code, namesOf(names, code)]);
  const former = Object.entries(formerCodes).map(([code, now]): [string, UbigeoNames] => [code, namesOf(names, now)]);
  return new Map([...districts, ...former]);
}

function namesOf(names: ReadonlyMap<string, string>, code: string): UbigeoNames {
  const named = (length: number) => {
    const name = names.get(code.slice(0, length));
    if (name === undefined) throw new Error(`the ubigeo list does not name ${code.slice(0, length)}`);
    return name;
  };
  return { departamento: named(2), provincia: named(4), distrito: named(6) };
}
