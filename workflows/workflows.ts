// The entry of the workflow bundle; it is run inside the deterministic sandbox and imported by nothing else.
export { deliver } from './delivery/workflow.ts';
export { fetch, publish, reconcile } from './publication/workflow.ts';
