import { isRegisterName } from '../../schemas/registers.ts';
import { ArchiveError, type ObjectName, objectKinds } from './archive.ts';

/** `<register>/<kind>/<sha256>`, the same in every store. @throws ArchiveError `name_invalid` */
export function objectKey({ register, kind, sha256 }: ObjectName): string {
  if (!isRegisterName(register) || !objectKinds.includes(kind) || !/^[0-9a-f]{64}$/.test(sha256)) {
    throw new ArchiveError('name_invalid', 'an object is named by register, kind and a sha256 in lower-case hex');
  }
  return `${register}/${kind}/${sha256}`;
}

/** Only evidence goes, never the truth of the state. @throws ArchiveError `name_invalid` */
export function removableKey(name: ObjectName): string {
  if (name.kind !== 'publications') throw new ArchiveError('name_invalid', 'only raw publications can be removed');
  return objectKey(name);
}

export function notFound(name: ObjectName): ArchiveError {
  return new ArchiveError('not_found', `the archive has no ${objectKey(name)}`);
}

/** Text names are `<folder>/<file>`, of letters, digits and `_ . -`. @throws ArchiveError `name_invalid` */
export function textKey(folder: string, file: string): string {
  const isName = (text: string) => /^[A-Za-z0-9_.-]+$/.test(text) && !/^\.+$/.test(text);
  if (!isName(folder) || !isName(file))
    throw new ArchiveError('name_invalid', 'a text is named by letters, digits, _ . -');
  return `${folder}/${file}`;
}
