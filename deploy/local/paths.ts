import path from 'node:path';

/** The folders of a checkout's own stack, below `.local`. */
export function mainStackPaths(localDirectory: string) {
  return {
    /** Data, logs, ports and passwords of the engines. */
    data: path.join(localDirectory, 'data'),
    /** What runs now. */
    run: path.join(localDirectory, 'run'),
    endpointsFile: path.join(localDirectory, 'run', 'endpoints.json'),
  };
}
