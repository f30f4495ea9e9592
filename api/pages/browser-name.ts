const browsers = [
  [/Edg\//, 'Edge'],
  [/OPR\//, 'Opera'],
  [/Firefox\//, 'Firefox'],
  [/Chrom(e|ium)\//, 'Chrome'],
  [/Safari\//, 'Safari'],
] as const;
const systems = [
  [/Android/, 'Android'],
  [/iPhone|iPad/, 'iOS'],
  [/Windows/, 'Windows'],
  [/Mac OS X/, 'macOS'],
  [/Linux/, 'Linux'],
] as const;

/** Names a browser in words, from what it calls itself. What is not known is shown as it came. */
export function browserName(agent: string | null): string {
  if (agent === null) return 'Navegador sin nombre';
  const nameIn = (list: readonly (readonly [RegExp, string])[]) => list.find(([form]) => form.test(agent))?.[1];
  const [browser, system] = [nameIn(browsers), nameIn(systems)];
  if (browser === undefined) return agent;
  return system === undefined ? browser : `${browser} en ${system}`;
}
