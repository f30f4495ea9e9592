/**
 * Place names by the codes of the national statistics institute (INEI): two digits for departments, four for provinces, six for
 * districts. Codes are text, because a leading zero is part of them. README.md says where the list comes from.
 */
export const ubigeoListUrl = new URL('./inei-2025.csv', import.meta.url);

export interface UbigeoNames {
  departamento: string;
  provincia: string;
  distrito: string;
}

export interface UbigeoCatalogue {
  departments: number;
  provinces: number;
  districts: number;
  /** Returns the names of a district, found by its code or an old code. null: the code is unknown. */
  find(code: string): UbigeoNames | null;
}

/**
 * Codes that registers may still write and the list no longer has, with today's district. Putumayo was a district of Maynas
 * until it became a province. Santa María de Huachipa is a part of Lurigancho that some lists number as a district. No other
 * code is guessed: lists that shift Tayacaja by one, or drop a leading zero, are wrong.
 */
const oldCodes: Readonly<Record<string, string>> = { '150144': '150118', '160109': '160801', '160114': '160803' };

/**
 * Reads `codigo;nombre` lines after a header. Names are shown in upper case with their accents (`ÁNCASH`), because the
 * registers' own texts beside them are in upper case.
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
  const codesOf = (length: number) => [...names.keys()].filter((code) => code.length === length);
  const districts = new Map<string, UbigeoNames>(codesOf(6).map((code) => [code, namesOf(names, code)]));
  for (const [old, today] of Object.entries(oldCodes)) districts.set(old, namesOf(names, today));
  return {
    departments: codesOf(2).length,
    provinces: codesOf(4).length,
    districts: codesOf(6).length,
    find: (code) => districts.get(code) ?? null,
  };
}

function namesOf(names: ReadonlyMap<string, string>, code: string): UbigeoNames {
  const named = (length: number) => {
    const name = names.get(code.slice(0, length));
    if (name === undefined) throw new Error(`the ubigeo list does not name ${code.slice(0, length)}`);
    return name;
  };
  return { departamento: named(2), provincia: named(4), distrito: named(6) };
}
