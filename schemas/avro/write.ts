import { existsSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { registers } from '../registers.ts';
import { changeSchemaOf } from './change-schema.ts';

// `npm run schemas`: writes the schema of a register that has none yet. An existing file is never changed by itself: what is
// registered must stay readable, so a changed column list is a decision (a new default, a new parser version).
for (const register of Object.values(registers)) {
  const file = fileURLToPath(new URL(`./${register.name}.avsc`, import.meta.url));
  if (existsSync(file)) continue;
  writeFileSync(file, `${JSON.stringify(changeSchemaOf(register), null, 2)}\n`);
  process.stdout.write(`${file} written\n`);
}
