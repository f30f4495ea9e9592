import { readFileSync, writeFileSync } from 'node:fs';
import proto, { type temporal } from '@temporalio/proto';

// The SDK's own historyToJSON fails where npm installs two copies of protobufjs ("type must be a Type"), so the generated
// classes convert themselves: readable JSON with names of enums, numbers as text where they are 64 bits wide.
const { History } = proto.temporal.api.history.v1;

export type History = temporal.api.history.v1.IHistory;

export function writeHistory(file: string, history: History): void {
  const plain = History.toObject(History.fromObject(history), { longs: String, enums: String, bytes: String });
  // Which machine recorded it is nobody's business and changes with every recording.
  const ours: Record<string, string> = { identity: 'recorder', stackTrace: '' };
  const text = JSON.stringify(plain, (key, value) => ours[key] ?? value, 1);
  writeFileSync(file, `${text}\n`);
}

export function readHistory(file: URL | string): History {
  return History.fromObject(JSON.parse(readFileSync(file, 'utf8')));
}
