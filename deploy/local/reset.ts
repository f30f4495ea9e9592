import { rmSync } from 'node:fs';
import { readLocalConfig, stackPaths } from './config.ts';
import { helpOption, readArguments } from './foreground.ts';
import { lockOwner } from './process.ts';
import { stackLockFile } from './stack.ts';

const help =
  'npm run local:reset: deletes the data of the local stack. Fetched programs stay. Refuses while the stack runs.';

if (readArguments(help, helpOption).values.help) {
  console.log(help);
} else {
  const paths = stackPaths(readLocalConfig().localDirectory);
  const owner = lockOwner(stackLockFile(paths.data));
  if (owner) {
    console.error(`the local stack runs in process ${owner.pid}: stop it first`);
    process.exitCode = 1;
  } else {
    rmSync(paths.data, { recursive: true, force: true });
    rmSync(paths.run, { recursive: true, force: true });
    console.log(`deleted ${paths.data}`);
  }
}
