import { appendFileSync, createWriteStream, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { crc32 } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ZipFile } from 'yazl';
import { entryName, writeZip } from '../../../../deploy/local/demo/register/publication.ts';
import { checkHeader } from '../../../../pipelines/diff/large/pages.ts';
import { checkPublication, openPublication, readPublication } from '../../../../pipelines/diff/publication.ts';
import { chunkBytes } from '../../../../pipelines/diff/zip.ts';
import type { Container, LargeFormat } from '../../../../pipelines/registers/module.ts';
import { registerModules } from '../../../../pipelines/registers/modules.ts';
import { columnNames } from '../../../../pipelines/registers/padron-mensual-rewrite.ts';
import { header } from '../../../../pipelines/registers/padron-reducido.ts';
import { officialExampleLines } from '../../../fixtures/padron-reducido/examples.ts';
import { joinLines } from '../../../support/registers/lines.ts';

let folder: string;
let path: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'padron-publication-'));
  path = join(folder, 'publication');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const limits = { maxTextBytes: 10_000_000, maxEntries: 10 };
const daily = registerModules.padron_reducido.source.container;
const plain: Container = { kind: 'plain' };
const text = Buffer.from(joinLines([header, ...officialExampleLines]));

describe('a publication that is a zip', () => {
  it('gives the one entry of its name; others are left alone', async () => {
    await writeZip(
      path,
      [
        { name: 'LEAME.pdf', content: Buffer.from('%PDF') },
        { name: entryName, content: text },
      ],
      6,
    );
    const opened = await openPublication(path, daily, limits);
    expect(opened).toMatchObject({ textBytes: text.length, crc32: crc32(text) });
    expect(await readPublication(path, daily, limits)).toEqual(text);
  });

  it.each([
    ['', 'It is an empty file.'],
    ['<html>', 'It is a web page (HTML), not a zip: the site answered with an error page.'],
    ['PK\u0003\u0004 cut', 'It begins as a zip but its directory is missing: the download was cut off.'],
    ['RUC|NOMBRE|', 'It is not a zip.'],
  ])('says what it is instead: %j', async (content, what) => {
    writeFileSync(path, content);
    await expect(openPublication(path, daily, limits)).rejects.toMatchObject({
      code: 'zip_invalid',
      message: `The publication cannot be opened. ${what}`,
    });
  });

  it('has too many entries, or declares an absurd size', async () => {
    const entries = Array.from({ length: 11 }, (_, index) => ({ name: `${index}.pdf`, content: Buffer.from('x') }));
    await writeZip(path, entries, 6);
    await expect(openPublication(path, daily, limits)).rejects.toMatchObject({
      code: 'zip_entry',
      message: /11 entries/,
    });
    await writeZip(path, [{ name: entryName, content: text }], 6);
    const zip = readFileSync(path);
    zip.writeUInt32LE(0xfffffff0, zip.indexOf(Buffer.from('PK\u0001\u0002', 'latin1')) + 24);
    writeFileSync(path, zip);
    await expect(openPublication(path, daily, limits)).rejects.toMatchObject({
      code: 'zip_size',
      message: 'The text declares 4294967280 bytes; the limit is 10000000.',
    });
    // A declared size within the limit is checked all the same.
    const wide = { ...limits, maxTextBytes: 2 ** 33 };
    await expect(readPublication(path, daily, wide)).rejects.toMatchObject({ code: 'zip_size', message: /less than/ });
  });
});

/** Names and contents of files; a name without content is a folder. */
type Files = readonly (readonly [name: string, content?: string | Buffer])[];

async function zipOf(files: Files, options: { forceZip64Format?: boolean; comment?: string } = {}): Promise<Buffer> {
  const zip = new ZipFile();
  for (const [name, content] of files) {
    if (content === undefined) zip.addEmptyDirectory(name);
    else zip.addBuffer(Buffer.from(content), name, { forceZip64Format: options.forceZip64Format ?? false });
  }
  zip.end({ forceZip64Format: options.forceZip64Format ?? false, comment: options.comment ?? '' });
  await pipeline(zip.outputStream, createWriteStream(path));
  return readFileSync(path);
}

describe('the text of a zip', () => {
  const notes = 'Estructura: RUC|NOMBRE O RAZON SOCIAL|…\n';

  it.each<[string, Files]>([
    [
      'read-me files of its kind',
      [
        ['LEEME.txt', notes],
        ['readme.TXT', notes],
        [entryName, text],
        ['vacio.txt', ''],
      ],
    ],
    [
      'what a Mac adds',
      [
        [entryName, text],
        [`__MACOSX/._${entryName}`, notes],
        [`._${entryName}`, text],
      ],
    ],
    ['folders with files', [['documentos'], ['documentos/estructura.txt', notes], [entryName, text]]],
    [
      'a read-me, under another name',
      [
        ['padron.txt', text],
        ['LEEME.txt', notes],
      ],
    ],
  ])('is found beside %s', async (_what, files) => {
    await zipOf(files);
    expect(await readPublication(path, daily, limits)).toEqual(text);
  });

  it('is found beside a folder that Windows has written', async () => {
    const zip = await zipOf([
      ['docs/estructura.txt', notes],
      [entryName, text],
    ]);
    writeFileSync(
      path,
      Buffer.from(zip.toString('latin1').replaceAll('docs/estructura', 'docs\\estructura'), 'latin1'),
    );
    expect(await readPublication(path, daily, limits)).toEqual(text);
  });

  it.each<[string, Files, RegExp]>([
    [
      'it is there twice',
      [
        [entryName, text],
        [`copia/${entryName}`, text],
      ],
      /2 of them may be the register's text/,
    ],
    [
      'another text begins as it does',
      [
        [entryName, text],
        ['otro.txt', text],
      ],
      /2 of them may be the register's text/,
    ],
    [
      'no text begins as it does',
      [
        ['a.txt', notes],
        ['b.txt', notes],
      ],
      /none of them is the register's text/,
    ],
    [
      'it lies in a folder',
      [
        ['datos/padron_reducido_ruc.txt', text],
        ['LEEME.txt', notes],
      ],
      /lies in a folder/,
    ],
    ['only a Mac’s attributes have its name', [[`__MACOSX/._${entryName}`, text]], /no entry named like/],
  ])('is refused where %s', async (_what, files, message) => {
    await zipOf(files);
    await expect(openPublication(path, daily, limits)).rejects.toMatchObject({ code: 'zip_entry', message });
  });

  it('keeps its own fault beside a read-me', async () => {
    const changed = joinLines([header.replace('RUC|', 'CODIGO|')]);
    await zipOf([
      ['LEEME.txt', notes],
      [entryName, Buffer.from(changed)],
    ]);
    await expect(checkPublication('padron_reducido', path, limits)).rejects.toMatchObject({ code: 'header_changed' });
  });

  it('of a month or a list is found in the same way', async () => {
    const month = `\ufeff${columnNames.join(',')}\n`;
    await zipOf([
      ['diccionario.csv', 'Campo,Tipo\n'],
      ['PadronRUC_202611.csv', month],
      ['__MACOSX/._PadronRUC_202611.csv', ''],
    ]);
    const { container } = registerModules.padron_mensual.source;
    expect((await openPublication(path, container, limits)).textBytes).toBe(Buffer.byteLength(month));
    const list = 'Ruc|Nombre/Razon|A partir del|Resolucion|\r';
    await zipOf([
      ['LEEME.txt', notes],
      ['__MACOSX/._AgenRet_TXT.txt', ''],
      ['agenret_txt.TXT', list],
    ]);
    await expect(checkPublication('agentes_retencion', path, limits)).resolves.toBeUndefined();
  });
});

describe('a zip that does not end where its file ends', () => {
  const opened = () => openPublication(path, daily, limits);
  const refused = (message: RegExp) => expect(opened()).rejects.toMatchObject({ code: 'zip_invalid', message });

  it.each([
    ['a few bytes', Buffer.from('\r\n')],
    ['more than the longest comment', Buffer.alloc(200_000, 'x')],
    ['more than is read at once', Buffer.alloc(1_100_000, 'PK\u0005\u0006')],
  ])('names %s after it', async (_what, more) => {
    for (const options of [{}, { forceZip64Format: true }, { comment: 'SUNAT' }]) {
      await zipOf([[entryName, text]], options);
      appendFileSync(path, more);
      await refused(new RegExp(`It is a whole zip with ${more.length} bytes after its end`));
    }
  });

  it('names bytes before it', async () => {
    const zip = await zipOf([[entryName, text]]);
    writeFileSync(path, Buffer.concat([Buffer.from('Warning: x\n'), zip]));
    await refused(/other bytes stand before the zip begins/);
  });

  it('was cut off, wherever it was cut and whatever follows', async () => {
    const zip = await zipOf([[entryName, text]], { comment: 'SUNAT' });
    for (const bytes of [20, zip.length >> 1, zip.length - 60, zip.length - 20, zip.length - 2]) {
      writeFileSync(path, zip.subarray(0, bytes));
      await refused(/cut off/);
      appendFileSync(path, '<html>');
      // Where only the comment was cut, the zip itself is whole.
      await refused(bytes === zip.length - 2 ? /4 bytes after its end/ : /cut off/);
    }
  });
});

describe('a publication that is plain text', () => {
  it('is read in pieces, with its size and checksum', async () => {
    const long = Buffer.alloc(chunkBytes + 10, 'A|B\r\n');
    writeFileSync(path, long);
    const opened = await openPublication(path, plain, limits);
    expect(opened).toMatchObject({ textBytes: long.length, crc32: crc32(long) });
    const pieces: Buffer[] = [];
    for await (const piece of opened.chunks()) pieces.push(piece);
    expect(pieces.length).toBeGreaterThan(1);
    expect(Buffer.compare(Buffer.concat(pieces), long)).toBe(0);
    writeFileSync(path, 'something else');
    const again = async () => {
      for await (const piece of opened.chunks()) expect(piece.length).toBeGreaterThan(0);
    };
    await expect(again()).rejects.toMatchObject({ code: 'text_invalid', message: /changed/ });
  });

  it.each([
    ['an error page', '\n <!DOCTYPE html><html>', 'text_invalid', /web page \(HTML\)/],
    ['an error page with a UTF-8 mark', '\ufeff<html>', 'text_invalid', /web page/],
    ['a zip in its place', 'PK\u0003\u0004…', 'text_invalid', /it is a zip/],
    ['a document', '%PDF-1.4', 'text_invalid', /PDF/],
    ['nothing', '', 'empty', /empty file/],
    ['far too much', 'x'.repeat(101), 'text_invalid', /101 bytes; the limit is 100/],
  ])('is refused when it is %s', async (_what, content, code, message) => {
    writeFileSync(path, content);
    const small = { ...limits, maxTextBytes: 100 };
    await expect(openPublication(path, plain, small)).rejects.toMatchObject({
      code,
      message,
      isPublicationFault: true,
    });
  });
});

describe('checking a publication before it is compared', () => {
  it('reads the header of a large register and goes no further', async () => {
    const noRow = joinLines([header, 'no row']);
    await writeZip(path, [{ name: entryName, content: noRow }], 6);
    await expect(checkPublication('padron_reducido', path, limits)).resolves.toBeUndefined();
    await writeZip(path, [{ name: entryName, content: joinLines([header.replace('LOTE', 'LOTES')]) }], 6);
    await expect(checkPublication('padron_reducido', path, limits)).rejects.toMatchObject({
      code: 'header_changed',
      message: 'The header is not the known one: column 12 is not called LOTE.',
    });
  });

  it('gives up a text of one endless line where a header must have ended', async () => {
    let read = 0;
    async function* endless(): AsyncGenerator<Buffer> {
      for (; read < 1_000; read += 1) yield Buffer.alloc(16 * 1024, 'X');
    }
    for (const { format } of [registerModules.padron_reducido, registerModules.padron_mensual]) {
      read = 0;
      await expect(checkHeader(endless(), format as LargeFormat)).rejects.toMatchObject({ code: 'header_changed' });
      expect(read).toBeLessThan(10);
    }
  });

  const list = registerModules.agentes_retencion.source.container;
  const zipList = (content: Buffer) => writeZip(path, [{ name: 'AgenRet_TXT.txt', content }], 1);
  const line = 'Ruc|Nombre/Razon|A partir del|Resolucion|\r';

  it.each([
    ['in UTF-8', `${line}20990000019|CAÑÓN|01/01/2020|RS|\r`, /written in UTF-8 instead of Windows-1252/],
    ['of more lines than any', line + '\r'.repeat(200_001), /more than 200000 lines/],
  ])('refuses a small register %s', async (_what, content, message) => {
    await zipList(Buffer.from(content, 'utf8'));
    const refusal = { code: 'text_invalid', message, isPublicationFault: true };
    await expect(checkPublication('agentes_retencion', path, limits)).rejects.toMatchObject(refusal);
  });

  it('refuses a small register that is too large for the process that compares it', async () => {
    await zipList(Buffer.alloc(17 * 2 ** 20, `${line}20990000019|X|01/01/2020|RS|\r`));
    const wide = { ...limits, maxTextBytes: 2 ** 33 };
    await expect(readPublication(path, list, wide)).rejects.toMatchObject({
      code: 'zip_size',
      message: /the limit is 16777216/,
    });
  });

  it('reads a small register whole', async () => {
    writeFileSync(path, 'A|B|C\r\n1|2|3\r\n');
    await expect(checkPublication('sancionados', path, limits)).rejects.toMatchObject({ code: 'header_changed' });
  });
});
