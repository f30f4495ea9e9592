import type { Register } from '../registers.ts';

/**
 * Makes the Avro schema for the changes of a new register. All registers have the same fields outside `Row`. `edition`
 * and `op` come first, so that a reader of these two need not decode the rest. `npm run schemas` writes the .avsc files
 * in this folder, which the schema registry gets. A test fails if a file differs from its register.
 */
export function changeSchemaOf(register: Register): unknown {
  const row = {
    type: 'record',
    name: 'Row',
    fields: register.columns.map(({ name }) => ({ name, type: 'string' })),
  };
  return {
    type: 'record',
    name: 'Change',
    namespace: `padron.${register.name}`,
    doc: 'One row-level difference between two editions of the register.',
    fields: [
      { name: 'edition', type: 'long', doc: 'number of the edition that made the change; the version of the row' },
      {
        name: 'op',
        type: { type: 'enum', name: 'Op', symbols: ['r', 'c', 'u', 'd'] },
        doc: 'r baseline, c appears, u differs, d disappears',
      },
      { name: 'seq', type: 'long', doc: 'position in the change file, from 0' },
      {
        name: 'ruc',
        type: 'string',
        doc:
          register.key === 'ruc'
            ? 'the RUC'
            : "the supplier's id as the register writes it; a RUC where tipo_id is ruc",
      },
      { name: 'before', type: ['null', row], default: null },
      { name: 'after', type: ['null', 'Row'], default: null },
      {
        name: 'line',
        type: ['null', 'long'],
        default: null,
        doc: 'line of the publication, from 1 (the header); null for a row that disappeared',
      },
      { name: 'detected_at', type: { type: 'long', logicalType: 'timestamp-millis' } },
      { name: 'corrects', type: ['null', 'long'], default: null, doc: 'the edition that this correction undoes' },
    ],
  };
}
