import avro from 'avsc';
import { openChangeFile } from '../changes/change-file.ts';
import type { Op, Row } from '../changes/record.ts';
import { ReplayError } from './errors.ts';
import type { SelectedEdition } from './selection.ts';

/** One change as it is handed to people who query. */
export interface ToldChange {
  edition: number;
  op: Op;
  ruc: string;
  before: Row | null;
  after: Row | null;
  /** Date of the edition's data, YYYY-MM-DD. */
  fecha_dato: string;
  /** Milliseconds since 1970. */
  detected_at: number;
  /** The edition that this change undoes. */
  corrects: number | null;
}

type Recorded = Omit<ToldChange, 'fecha_dato'>;

/**
 * The changes of these editions in the order of their files, decoded by the schema that each file carries: columns are those
 * of its own day.
 * @throws ReplayError `change_file_damaged`
 */
export async function* toldChanges(editions: readonly SelectedEdition[]): AsyncGenerator<ToldChange[]> {
  for (const { edition: number, path, fechaDato } of editions) {
    const file = await openChangeFile(path);
    try {
      const type = avro.Type.forSchema(JSON.parse(file.header.metadata['avro.schema'] ?? '') as avro.Schema);
      for await (const { bytes, count } of file.blocks()) {
        const changes: ToldChange[] = [];
        for (let at = 0, index = 0; index < count; index += 1) {
          const { value, offset } = type.decode(bytes, at) as { value: Recorded | undefined; offset: number };
          if (value === undefined) {
            throw new ReplayError(
              'change_file_damaged',
              `the change file of edition ${number} has a block that is cut off`,
            );
          }
          const { edition, op, ruc, before, after, detected_at, corrects } = value;
          changes.push({ edition, op, ruc, before, after, fecha_dato: fechaDato, detected_at, corrects });
          at = offset;
        }
        yield changes;
      }
    } finally {
      await file.close();
    }
  }
}
