// Imports go one way: schemas ← pipelines ← workflows ← api ← deploy.
const layers = ['^schemas/', '^pipelines/', '^workflows/', '^api/', '^deploy/'];

const onlyDownwards = layers.slice(0, -1).map((from, level) => ({
  name: `only-downwards-from-${from.replace(/[^a-z]+/g, '-')}`,
  severity: 'error',
  comment: 'a layer imports itself and the layers before it',
  from: { path: from },
  to: { path: layers.slice(level + 1) },
}));

module.exports = {
  forbidden: [
    ...onlyDownwards,
    { name: 'no-circle-of-files', severity: 'error', from: {}, to: { circular: true } },
    {
      name: 'no-circle-of-folders',
      severity: 'error',
      scope: 'folder',
      from: { path: '^(schemas|pipelines|workflows|api|deploy)' },
      to: { circular: true },
    },
    {
      name: 'no-main',
      severity: 'error',
      comment: 'nothing imports a main.ts',
      from: {},
      to: { path: '(^|/)main\\.ts$' },
    },
    {
      name: 'difference-loads-no-http-client',
      severity: 'error',
      comment: 'a difference starts a program and several threads, and loading the HTTP client would slow each',
      from: { path: '^pipelines/diff/(main|large/.*\\.worker)\\.ts$' },
      to: { path: 'node_modules/undici', reachable: true },
    },
    {
      name: 'test-support-imports-no-suite',
      severity: 'error',
      from: { path: '^test/(support|fixtures)/' },
      to: { path: '^test/(?!support/|fixtures/)' },
    },
    { name: 'product-imports-no-test', severity: 'error', from: { pathNot: '^test/' }, to: { path: '^test/' } },
    {
      name: 'workflow-code-is-pure',
      severity: 'error',
      comment: 'workflow code runs in the deterministic sandbox: types and pure modules only',
      from: { path: '^workflows/[^/]+/workflow\\.ts$' },
      to: {
        pathNot: [
          '^workflows/[^/]+/(backoff|health|gates|messages|order)\\.ts$',
          // As a type only, which this tool cannot tell with this compiler: test/unit/workflows/purity.test.ts does.
          '^workflows/[^/]+/activities\\.ts$',
          '^schemas/',
          '@temporalio/(workflow|common)',
        ],
        dependencyTypesNot: ['type-only'],
      },
    },
    { name: 'not-to-unresolvable', severity: 'error', from: {}, to: { couldNotResolve: true } },
  ],
  options: {
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '^node_modules' },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'node', 'default', 'types'] },
  },
};
