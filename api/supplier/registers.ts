import { recordRegisters } from '../queries/record-sources.ts';

/** The registers of bars from state contracting. They name suppliers by their RUC, among other ids. */
export const barRegisters = ['sancionados', 'inhabilitaciones_judiciales', 'inhabilitaciones_administrativas'] as const;
export type BarRegister = (typeof barRegisters)[number];

/** All that a supplier check looks at. */
export const supplierRegisters = [...recordRegisters, ...barRegisters] as const;
