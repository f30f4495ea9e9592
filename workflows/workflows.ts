// The entry of the workflow bundle. It runs inside the deterministic sandbox, and nothing else imports it.
export { deliver } from './delivery/workflow.ts';
export { fetch, publish, reconcile } from './publication/workflow.ts';
