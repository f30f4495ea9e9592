// Prints the list of all packages that the product runs with, as CycloneDX (`npm run sbom`, and the image's build).
// npm's own `--omit=dev` leaves packages out that a package for development needs too, such as the client of S3. So npm
// lists everything, and what it marks as for development alone is removed here.
import { execFileSync } from 'node:child_process';

const printed = execFileSync('npm', ['sbom', '--package-lock-only', '--sbom-format=cyclonedx'], { maxBuffer: 1 << 28 });
const list = JSON.parse(printed);
const isForDevelopment = ({ properties = [] }) => properties.some(({ name }) => name === 'cdx:npm:package:development');
const removed = new Set(list.components.filter(isForDevelopment).map((component) => component['bom-ref']));
list.components = list.components.filter((component) => !removed.has(component['bom-ref']));
list.dependencies = list.dependencies
  .filter(({ ref }) => !removed.has(ref))
  .map(({ ref, dependsOn = [] }) => ({ ref, dependsOn: dependsOn.filter((each) => !removed.has(each)) }));
process.stdout.write(`${JSON.stringify(list, null, 2)}\n`);
