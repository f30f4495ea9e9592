import { changesTopic, editionsTopic, type RegisterName } from '../../schemas/registers.ts';
import type { SchemaName } from '../changes/record.ts';

/** A topic that publishing writes: its name, the registry's subject of its values, and their schema. */
export interface Output {
  topic: string;
  subject: string;
  schema: SchemaName;
}

export function changesOutput(prefix: string, register: RegisterName): Output {
  const topic = changesTopic(prefix, register);
  return { topic, subject: `${topic}-value`, schema: register };
}

/** One partition: editions are in order. */
export function editionsOutput(prefix: string, register: RegisterName): Output {
  const topic = editionsTopic(prefix, register);
  return { topic, subject: `${topic}-value`, schema: 'edition' };
}

export function outputsOf(prefix: string, register: RegisterName): readonly Output[] {
  return [changesOutput(prefix, register), editionsOutput(prefix, register)];
}
