import { Readable } from 'node:stream';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { readCapped } from '../../../../../pipelines/runtime/egress/request.ts';

const of = (...pieces: Buffer[]) => Readable.from(pieces);

describe('an answer body is read up to a cap', () => {
  it('whole when it fits, to the byte', async () => {
    const body = Buffer.alloc(16, 'a');
    expect(await readCapped(of(body), undefined, 16)).toEqual({ body, problem: null });
    expect(await readCapped(of(gzipSync(body)), 'gzip', 16)).toEqual({ body, problem: null });
    expect(await readCapped(of(brotliCompressSync(body)), 'br', 16)).toEqual({ body, problem: null });
    expect((await readCapped(of(body), undefined, 15)).problem).toBe('cut');
  });

  it('an endless body is cut and its source closed', async () => {
    const endless = new Readable({
      read() {
        this.push(Buffer.alloc(1_000));
      },
    });
    const result = await readCapped(endless, undefined, 16_000);
    expect([result.body.length, result.problem, endless.destroyed]).toEqual([16_000, 'cut', true]);
  });

  it('a 61 KB body that grows to 60 MB is cut at the cap', async () => {
    const bomb = gzipSync(Buffer.alloc(60 * 1024 * 1024));
    expect(bomb.length).toBeLessThan(70_000);
    const result = await readCapped(of(bomb), 'GZIP', 16_000);
    expect([result.body.length, result.problem]).toEqual([16_000, 'cut']);
  });

  it('broken compression returns what was read and never throws', async () => {
    const cut = gzipSync(Buffer.from('hello '.repeat(1_000))).subarray(0, 20);
    expect((await readCapped(of(cut), 'gzip', 16_000)).problem).toBe('broken');
    expect((await readCapped(of(Buffer.from('not gzip')), 'gzip', 16_000)).problem).toBe('broken');
  });

  it('a connection that breaks inside a compressed body does not hang', async () => {
    const source = new Readable({ read() {} });
    source.push(gzipSync(Buffer.alloc(100_000, 'x')).subarray(0, 30));
    setImmediate(() => source.destroy(new Error('reset')));
    expect((await readCapped(source, 'gzip', 16_000)).problem).toBe('broken');
  });
});
