import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { registers } from '../registers.ts';
import { changeSchemaOf } from './change-schema.ts';
import { addColumns } from './columns.ts';

// `npm run schemas` runs this file. It writes the missing schemas of registers, and adds a register's new columns to
// its schema. It changes nothing else in an existing file. Otherwise stored records could become unreadable.
for (const register of Object.values(registers)) {
  const file = fileURLToPath(new URL(`./${register.name}.avsc`, import.meta.url));
  const before = existsSync(file) ? readFileSync(file, 'utf8') : null;
  const schema: unknown = before === null ? changeSchemaOf(register) : JSON.parse(before);
  const columns = register.columns.map(({ name }) => name);
  if (!addColumns(schema, columns)) {
    process.stderr.write(
      `${register.name}: columns are added at the end and never moved, renamed or removed (columns.ts)\n`,
    );
    process.exitCode = 1;
  } else if (before === null || JSON.stringify(schema) !== JSON.stringify(JSON.parse(before))) {
    writeFileSync(file, `${JSON.stringify(schema, null, 2)}\n`);
    process.stdout.write(`${file} written\n`);
  }
}
