import { runNamed } from '../support/process/named-runs.ts';

await runNamed('bench', new URL('./', import.meta.url));
