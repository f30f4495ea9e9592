// The entry of the workflow bundle. It runs in Temporal's deterministic sandbox, and no other file imports it.
export { deliver } from './delivery/workflow.ts';
export { fetch, publish, reconcile } from './publication/workflow.ts';
