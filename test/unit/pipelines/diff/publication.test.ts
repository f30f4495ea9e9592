import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { entryName, writeZip } from '../../../../deploy/local/demo/register/publication.ts';
import { checkHeader } from '../../../../pipelines/diff/large/pages.ts';
import { checkPublication, openPublication, readPublication } from '../../../../pipelines/diff/publication.ts';
import { chunkBytes } from '../../../../pipelines/diff/zip.ts';
import type { Container, LargeFormat } from '../../../../pipelines/registers/module.ts';
import { registerModules } from '../../../../pipelines/registers/modules.ts';
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
