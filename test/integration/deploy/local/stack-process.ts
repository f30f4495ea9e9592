import { startStack } from '../../../../deploy/local/stack.ts';

// A process that runs a stack and nothing else, for tests that kill it. It prints the addresses as one line when ready.
const directory = process.argv[2];
if (directory === undefined) throw new Error('which folder?');
startStack({ directory, addresses: {} }).then(
  (stack) => {
    console.log(JSON.stringify(stack.endpoints));
    setInterval(() => undefined, 1000);
  },
  (error: unknown) => {
    console.error(error);
    process.exit(1);
  },
);
