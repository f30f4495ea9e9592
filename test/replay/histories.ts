import { readFileSync, writeFileSync } from 'node:fs';
import proto, { type temporal } from '@temporalio/proto';

// The SDK's own historyToJSON fails where npm installs two copies of protobufjs ("type must be a Type"). The generated
// classes convert themselves instead, to readable JSON: enums by name, and 64-bit numbers as text.
const { History } = proto.temporal.api.history.v1;

export type History = temporal.api.history.v1.IHistory;

export function writeHistory(file: string, history: History): void {
  const plain = History.toObject(History.fromObject(history), { longs: String, enums: String, bytes: String });
  // Both fields name the machine or its paths, so they would differ between recordings.
  const ours: Record<string, string> = { identity: 'recorder', stackTrace: '' };
  const text = JSON.stringify(plain, (key, value) => ours[key] ?? value, 1);
  writeFileSync(file, `${text}\n`);
}

export function readHistory(file: URL | string): History {
  return History.fromObject(JSON.parse(readFileSync(file, 'utf8')));
}
