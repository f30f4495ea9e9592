import { runNamed } from '../support/process/named-runs.ts';

await runNamed('chaos', new URL('./', import.meta.url));
