/** What stands for what in company names; one abbreviation may stand for several words. */
const abbreviations: Readonly<Record<string, readonly string[]>> = {
  ASOC: ['ASOCIACION'],
  COOP: ['COOPERATIVA'],
  INV: ['INVERSIONES', 'INVERSION'],
  DIST: ['DISTRIBUIDORA', 'DISTRIBUCIONES', 'DISTRIBUIDORES'],
  DISTRIB: ['DISTRIBUIDORA', 'DISTRIBUCIONES', 'DISTRIBUIDORES'],
  CORP: ['CORPORACION'],
  CONST: ['CONSTRUCTORA', 'CONSTRUCCIONES', 'CONSTRUCTORES'],
  CONSTR: ['CONSTRUCTORA', 'CONSTRUCCIONES', 'CONSTRUCTORES'],
  SERV: ['SERVICIOS', 'SERVICIO'],
  TRANSP: ['TRANSPORTES', 'TRANSPORTE'],
  IMP: ['IMPORTACIONES', 'IMPORTADORA'],
  EXP: ['EXPORTACIONES', 'EXPORTADORA'],
  IND: ['INDUSTRIAS', 'INDUSTRIA', 'INDUSTRIAL'],
};
const known: ReadonlyMap<string, readonly string[]> = new Map(Object.entries(abbreviations));
const nothing: readonly string[] = [];

/** The words that a folded word may abbreviate; none for most. */
export function expansionsOf(word: string): readonly string[] {
  return known.get(word) ?? nothing;
}

/**
 * The words under which a folded name is found: its own and what its abbreviations may stand for. A typed abbreviation is
 * expanded where it is searched for, so both ways meet.
 */
export function searchedWords(base: string): string {
  const words = base.split(' ');
  const more = words.flatMap(expansionsOf);
  return more.length === 0 ? base : [...words, ...more].join(' ');
}
