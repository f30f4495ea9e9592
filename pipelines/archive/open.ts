import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Archive, TextStore } from './archive.ts';
import { FolderArchive, FolderTexts } from './folder.ts';

/**
 * Opens the archive at ARCHIVE_URL: `file:///folder` or `s3://bucket/prefix?region=…&endpoint=…&path_style=1`. For S3,
 * `workDir` holds unfinished files and local copies of objects, which can all be fetched again. The S3 client is
 * imported only for S3, because the import takes a third of a second and 40 MB.
 * @throws ArchiveError `name_invalid` for an address of another form
 */
export async function openArchive(archiveUrl: string, workDir: string): Promise<Archive> {
  if (archiveUrl.startsWith('file:')) return new FolderArchive(fileURLToPath(archiveUrl));
  const [{ openS3Bucket, S3Archive }, { LocalCopies }] = await Promise.all([
    import('./s3.ts'),
    import('./local-copies.ts'),
  ]);
  const folder = join(workDir, 'archive');
  return new S3Archive(openS3Bucket(archiveUrl), new LocalCopies(join(folder, 'copies')), join(folder, 'incoming'));
}

/**
 * Opens a text store of the archive at ARCHIVE_URL. `schemas` holds each schema under its id in the schema registry.
 * `editions` holds what the catalogue knows about each edition.
 */
export async function openTexts(archiveUrl: string, root: 'schemas' | 'editions'): Promise<TextStore> {
  if (archiveUrl.startsWith('file:')) return new FolderTexts(join(fileURLToPath(archiveUrl), root));
  const { openS3Bucket, S3Texts } = await import('./s3.ts');
  return new S3Texts(openS3Bucket(archiveUrl), root);
}
