import { accessSync, constants, statSync } from 'node:fs';
import path from 'node:path';

/** Something that must be on the machine is not: the message says what to install or which address to set instead. */
export class MissingPrerequisiteError extends Error {
  override name = 'MissingPrerequisiteError';
}

/** The first executable file with one of these names in the folders of a PATH, as a shell would find it. */
export function findProgram(searchPath: string, ...names: string[]): string | undefined {
  for (const name of names) {
    for (const folder of searchPath.split(path.delimiter).filter((entry) => path.isAbsolute(entry))) {
      const file = path.join(folder, name);
      if (isExecutable(file)) return file;
    }
  }
  return undefined;
}

/** What a missing program stops, and the settings that make it unnecessary. */
export interface Need {
  /** For people: "Kafka 4.4.0". */
  what: string;
  /** The environment names of the addresses to set instead. */
  instead: readonly string[];
}

export function missing(program: string, install: string, need: Need): MissingPrerequisiteError {
  const instead = need.instead.length > 0 ? `, or set ${need.instead.join(' and ')} to one that already runs` : '';
  return new MissingPrerequisiteError(
    `${program} is needed once, to fetch ${need.what}, and is not on PATH. Install it (${install})${instead}.`,
  );
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}
