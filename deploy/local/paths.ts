import { existsSync } from 'node:fs';
import path from 'node:path';

/** The folders of a stack, below `.local` or another folder like it. */
export function stackPaths(localDirectory: string) {
  return {
    /** Data, logs, ports and passwords of the engines. */
    data: path.join(localDirectory, 'data'),
    /** What runs now. */
    run: path.join(localDirectory, 'run'),
    endpointsFile: path.join(localDirectory, 'run', 'endpoints.json'),
  };
}

/** A folder like `.local` of the demo's own: it never takes the place of what `npm start` runs. */
export function demoDirectory(localDirectory: string): string {
  return path.join(localDirectory, 'demo');
}

/** Where the addresses of what runs here stand: those of `npm start`, which win, else the demo's. */
export function runningEndpointsFile(localDirectory: string): string {
  const [started, demo] = [localDirectory, demoDirectory(localDirectory)].map((at) => stackPaths(at).endpointsFile);
  return !existsSync(started!) && existsSync(demo!) ? demo! : started!;
}
