import type { ServedRegister } from '../../../api/catalogue.ts';
import type { RegisterName } from '../../../schemas/registers.ts';

/** A register as the catalogue gives it: edition `number`, published and complete at the start of November `number`. */
export function servedRegister(register: RegisterName, number = 1): ServedRegister {
  const publishedAt = new Date(Date.UTC(2026, 10, number));
  const fechaDato = `2026-11-0${number}`;
  return {
    edition: {
      register,
      number,
      fechaDato,
      publishedAt,
      materialisedAt: publishedAt,
      sha256: null,
      changedAt: publishedAt,
      isNextUnfinished: false,
    },
    modifiedAt: publishedAt,
    source: { registro: register, fecha_dato: fechaDato, publicado_en: '', cargado_en: null, sha256: null },
  };
}
