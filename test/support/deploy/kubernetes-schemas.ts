import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fetchOnce } from '../../../deploy/local/fetch.ts';
import { programOnPath, run, store } from './tools.ts';

/** The release whose resources the chart is checked against. */
export const kubernetesVersion = '1.34.0';

/** The API groups that the chart uses. */
const documents =
  /^(api__v1|apis__(apps__v1|batch__v1|policy__v1|autoscaling__v2|networking\.k8s\.io__v1))_openapi\.json$/;

interface ApiDocument {
  components: { schemas: Record<string, Schema> };
}
type Schema = { [key: string]: unknown };
interface Kind {
  group: string;
  version: string;
  kind: string;
}

/**
 * Returns a folder with a JSON schema for each kind of these groups, named as kubeconform looks for them. They are made
 * of the API's own description, which the module of Kubernetes holds. Unlike there, an unknown field is an error.
 */
export function kubernetesSchemas(): Promise<string> {
  return fetchOnce(store, `kubernetes-schemas-${kubernetesVersion}`, async (to) => {
    const go = programOnPath('go', 'go is not on PATH, which fetches the description of the API');
    const module = `k8s.io/kubernetes@v${kubernetesVersion}`;
    // Any folder outside a module will do.
    const answer = await run(go, ['mod', 'download', '-json', module], { cwd: to });
    const folder = path.join((JSON.parse(answer) as { Dir: string }).Dir, 'api', 'openapi-spec', 'v3');
    for (const name of readdirSync(folder).filter((each) => documents.test(each))) {
      const { components } = JSON.parse(readFileSync(path.join(folder, name), 'utf8')) as ApiDocument;
      writeKinds(components.schemas, to);
    }
  });
}

function writeKinds(schemas: Record<string, Schema>, to: string): void {
  for (const [name, schema] of Object.entries(schemas)) {
    const kinds = schema['x-kubernetes-group-version-kind'] as Kind[] | undefined;
    // Types such as DeleteOptions belong to many kinds and are no resources themselves.
    if (kinds?.length !== 1) continue;
    const { group, version, kind } = kinds[0]!;
    const groupPart = group === '' ? '' : `-${group.split('.')[0]}`;
    const definitions: Record<string, unknown> = {};
    addWithReferences(name, schemas, definitions);
    const document = { $schema: 'http://json-schema.org/draft-07/schema#', $ref: `#/definitions/${name}`, definitions };
    writeFileSync(path.join(to, `${kind.toLowerCase()}${groupPart}-${version}.json`), JSON.stringify(document));
  }
}

function addWithReferences(name: string, schemas: Record<string, Schema>, definitions: Record<string, unknown>): void {
  if (name in definitions) return;
  definitions[name] = true;
  definitions[name] = closed(schemas[name]!, (referenced) => addWithReferences(referenced, schemas, definitions));
}

/** A copy in which objects with named fields have no others, and which refers to `definitions`. */
function closed(value: unknown, onReference: (name: string) => void): unknown {
  if (Array.isArray(value)) return value.map((each) => closed(each, onReference));
  if (typeof value !== 'object' || value === null) return value;
  const copy: Schema = {};
  for (const [key, inner] of Object.entries(value)) {
    if (key === '$ref') {
      const name = String(inner).replace('#/components/schemas/', '');
      onReference(name);
      copy.$ref = `#/definitions/${name}`;
    } else if (key !== 'default') copy[key] = closed(inner, onReference);
  }
  if (copy.type === 'object' && copy.properties !== undefined) copy.additionalProperties ??= false;
  return copy;
}
