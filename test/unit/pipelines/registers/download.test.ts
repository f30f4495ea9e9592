import { createHash, randomBytes } from 'node:crypto';
import { statSync } from 'node:fs';
import { mkdtemp, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type DownloadLimits, type DownloadProgress, download } from '../../../../pipelines/registers/download.ts';
import { probeSite, readPage, type SiteAccess } from '../../../../pipelines/registers/site.ts';
import { makeEgressDispatcher } from '../../../../pipelines/runtime/egress/dispatcher.ts';
import { FaultyOfficialSite } from '../../../support/publication/official-site.ts';

const policy = { allowPrivateTargets: true, allowHttp: true };
const limits: DownloadLimits = {
  maxBytes: 10_000_000,
  stallTimeoutMs: 20_000,
  maxFailuresWithoutProgress: 3,
  progressBytes: 50_000,
  firstPauseMs: 5,
  maxPauseMs: 20,
  reserveBytes: 0,
  reportEveryMs: 20,
};
const published = new Date('2026-11-27T07:38:00Z');
const bytes = randomBytes(1_000_000);
const sha256 = createHash('sha256').update(bytes).digest('hex');

let site: FaultyOfficialSite;
let folder: string;
let access: SiteAccess;

beforeEach(async () => {
  site = new FaultyOfficialSite();
  await site.start();
  site.publish(bytes, published);
  folder = await mkdtemp(join(tmpdir(), 'padron-download-'));
  site.whenTaken = whenOnDisk;
  const dispatcher = makeEgressDispatcher(policy, {
    connectTimeoutMs: 20_000,
    headersTimeoutMs: 20_000,
    bodyIdleTimeoutMs: 20_000,
    connectionsPerOrigin: 2,
    keepAliveMs: 1_000,
  });
  access = { dispatcher, policy, userAgent: 'padron-test' };
});

afterEach(async () => {
  vi.useRealTimers();
  await access.dispatcher.close();
  await site.close();
  await rm(folder, { recursive: true, force: true });
});

function take(
  changes: { limits?: Partial<DownloadLimits>; signal?: AbortSignal; report?: (p: DownloadProgress) => void } = {},
) {
  return download({
    access,
    url: site.url,
    file: join(folder, 'file.part'),
    limits: { ...limits, ...changes.limits },
    signal: changes.signal ?? new AbortController().signal,
    report: changes.report ?? (() => {}),
  });
}

async function expectWhole(downloaded: Awaited<ReturnType<typeof take>>, expected = sha256): Promise<void> {
  expect(downloaded.finished.sha256).toBe(expected);
  const kept = createHash('sha256')
    .update(await readFile(join(folder, 'file.part')))
    .digest('hex');
  expect(kept).toBe(expected);
}

/** Waits until the part on disk has so many bytes. */
async function whenOnDisk(bytes: number): Promise<void> {
  const size = () => statSync(join(folder, 'file.part'), { throwIfNoEntry: false })?.size ?? 0;
  await expect.poll(size, { interval: 5 }).toBeGreaterThanOrEqual(bytes);
}

const gets = () => site.requests.filter((request) => request.method === 'GET');

describe('download', () => {
  it('takes a file with its hash, size and validators', async () => {
    const downloaded = await take();
    await expectWhole(downloaded);
    expect(downloaded).toMatchObject({
      etag: site.file!.etag,
      lastModified: published.toUTCString(),
      declaredBytes: bytes.length,
      finished: { bytes: bytes.length },
    });
    expect(Math.abs(Date.parse(downloaded.answeredAt!) - Date.now())).toBeLessThan(60_000);
  });

  it('is not done twice', async () => {
    await take();
    await expectWhole(await take());
    expect(gets()).toHaveLength(1);
  });

  it('goes on after a reset where it stopped, with If-Range', async () => {
    site.misbehave({ mode: 'reset', afterBytes: 300_000, times: 2 });
    await expectWhole(await take());
    expect(gets().map((request) => request.range)).toEqual([null, 'bytes=300000-', 'bytes=600000-']);
    expect(gets()[1]!.ifRange).toBe(site.file!.etag);
  });

  it('goes on in another process from what is on disk', async () => {
    site.misbehave({ mode: 'reset', afterBytes: 400_000 });
    await expect(take({ limits: { maxFailuresWithoutProgress: 0 } })).rejects.toMatchObject({
      code: 'source_unavailable',
      retryable: true,
    });
    site.misbehave({ mode: 'ok' });
    await expectWhole(await take());
    expect(gets().at(-1)!.range).toBe('bytes=400000-');
  });

  it('starts over when the file changed during the resume', async () => {
    const changed = randomBytes(900_000);
    site.misbehave({ mode: 'reset', afterBytes: 300_000, times: 1 });
    site.onCut = () => site.publish(changed, new Date('2026-11-28T07:38:00Z'));
    const downloaded = await take();
    await expectWhole(downloaded, createHash('sha256').update(changed).digest('hex'));
    expect(downloaded.lastModified).toBe(new Date('2026-11-28T07:38:00Z').toUTCString());
  });

  it('starts over when a range is answered with another one', async () => {
    site.misbehave({ mode: 'reset', afterBytes: 300_000, times: 1 });
    site.onCut = () => site.misbehave({ mode: 'wrong_range' });
    await expectWhole(await take());
  });

  it('takes the whole again from a site without ranges', async () => {
    site.misbehave({ mode: 'reset', afterBytes: 300_000, times: 1 });
    site.onCut = () => site.misbehave({ mode: 'no_ranges' });
    await expectWhole(await take());
  });

  it('starts over when the part on disk was damaged or its note lost', async () => {
    await writeFile(join(folder, 'file.part'), randomBytes(2_000_000));
    await writeFile(join(folder, 'file.part.json'), '{"url":');
    await expectWhole(await take());
    expect(gets()[0]!.range).toBeNull();
  });

  it('asks for the last byte again when all bytes are there but nothing says they are whole', async () => {
    const downloaded = await take();
    await writeFile(join(folder, 'file.part.json'), JSON.stringify({ ...downloaded, finished: null }));
    await expectWhole(await take());
    expect(gets().at(-1)!.range).toBe(`bytes=${bytes.length - 1}-`);
  });

  it('does not keep bytes of a part that is longer than the file', async () => {
    const downloaded = await take();
    await truncate(join(folder, 'file.part'), bytes.length + 5_000);
    await writeFile(join(folder, 'file.part.json'), JSON.stringify({ ...downloaded, finished: null }));
    await expectWhole(await take());
  });

  it('gives up a silent connection and goes on', async () => {
    site.misbehave({ mode: 'stall', afterBytes: 200_000, times: 1 });
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const taking = take();
    await whenOnDisk(200_000);
    vi.advanceTimersByTime(limits.stallTimeoutMs);
    await expectWhole(await taking);
    expect(gets()[1]!.range).toBe('bytes=200000-');
  });

  it('says that the site sends nothing when that does not end', async () => {
    site.misbehave({ mode: 'stall', afterBytes: 1_000 });
    await expect(take({ limits: { stallTimeoutMs: 60 } })).rejects.toThrow('the site sent nothing for 60 ms');
  });

  it('spends its budget only where there is no progress', async () => {
    site.misbehave({ mode: 'reset', afterBytes: 60_000 });
    await expectWhole(await take());
    expect(gets().length).toBeGreaterThan(limits.maxFailuresWithoutProgress * 3);
  });

  it('gives up after so many failures without progress', async () => {
    site.misbehave({ mode: 'reset', afterBytes: 1_000 });
    await expect(take()).rejects.toMatchObject({ code: 'source_unavailable', retryable: true });
    expect(gets()).toHaveLength(limits.maxFailuresWithoutProgress + 1);
  });

  it('tries a 503 again', async () => {
    site.misbehave({ mode: 'status', status: 503, times: 2 });
    await expectWhole(await take());
    site.misbehave({ mode: 'status', status: 503 });
    await rm(join(folder, 'file.part.json'));
    await expect(take()).rejects.toThrow('the site answered 503');
  });

  it('refuses a declared size above the limit at once, and an undeclared one when it is reached', async () => {
    site.misbehave({ mode: 'declares', bytes: limits.maxBytes + 1 });
    await expect(take()).rejects.toMatchObject({ code: 'declared_too_large', retryable: false });
    expect(gets()).toHaveLength(1);
    site.misbehave({ mode: 'truncated', afterBytes: bytes.length });
    await expect(take({ limits: { maxBytes: 500_000 } })).rejects.toMatchObject({ code: 'declared_too_large' });
  });

  it('needs room on the disk before it begins', async () => {
    await expect(
      take({ limits: { reserveBytes: Number.MAX_SAFE_INTEGER / 2, maxFailuresWithoutProgress: 0 } }),
    ).rejects.toMatchObject({ code: 'disk_full', retryable: true });
  });

  it('cannot know that a file without a declared size was cut: that is found in the zip', async () => {
    site.misbehave({ mode: 'truncated', afterBytes: 123_456 });
    expect((await take()).finished.bytes).toBe(123_456);
  });

  it('reports while it runs, and stops when it is cancelled', async () => {
    site.misbehave({ mode: 'stall', afterBytes: 100_000 });
    const controller = new AbortController();
    const reports: DownloadProgress[] = [];
    const taking = take({
      limits: { stallTimeoutMs: 60_000 },
      signal: controller.signal,
      report: (progress) => {
        reports.push(progress);
        if (progress.bytes >= 100_000) controller.abort();
      },
    });
    await expect(taking).rejects.toMatchObject({ code: 'cancelled' });
    expect(reports.at(-1)).toEqual({ bytes: 100_000, declaredBytes: bytes.length, failures: 0 });
  });

  it('follows a redirect once, not for ever, and never past the guard', async () => {
    site.misbehave({ mode: 'redirect', to: site.url });
    await expect(take({ limits: { maxFailuresWithoutProgress: 0 } })).rejects.toThrow('redirects more than 3 times');
    site.misbehave({ mode: 'redirect', to: 'ftp://example.com/file.zip' });
    await expect(take()).rejects.toMatchObject({ code: 'source_refused', retryable: false });
  });

  it('refuses a private address unless that is admitted', async () => {
    const guarded = { ...access, policy: { allowPrivateTargets: false, allowHttp: true } };
    await expect(
      download({
        access: guarded,
        url: site.url,
        file: join(folder, 'x'),
        limits,
        signal: new AbortController().signal,
        report: () => {},
      }),
    ).rejects.toMatchObject({ code: 'source_refused', retryable: false });
    expect(site.requests).toHaveLength(0);
  });
});

describe('probe', () => {
  const signal = new AbortController().signal;
  const current = () => ({ etag: site.file!.etag, lastModified: published.toUTCString() });

  it('gives the version, and says unchanged for the one that is known', async () => {
    expect(await probeSite(access, site.url, null, signal)).toEqual({
      found: 'version',
      validators: current(),
      isPage: false,
    });
    expect(await probeSite(access, site.url, current(), signal)).toEqual({ found: 'unchanged' });
    expect(await probeSite(access, site.url, { etag: null, lastModified: published.toUTCString() }, signal)).toEqual({
      found: 'unchanged',
    });
    expect(gets()).toHaveLength(0);
  });

  it('sees that the bytes of a known ETag have another time', async () => {
    const known = current();
    site.file!.lastModified = new Date('2026-11-28T07:38:00Z');
    const validators = { etag: known.etag, lastModified: 'Sat, 28 Nov 2026 07:38:00 GMT' };
    expect(await probeSite(access, site.url, known, signal)).toEqual({ found: 'version', validators, isPage: false });
  });

  it('asks with GET where HEAD is not known, without taking the file', async () => {
    site.misbehave({ mode: 'no_head' });
    expect(await probeSite(access, site.url, null, signal)).toEqual({
      found: 'version',
      validators: current(),
      isPage: false,
    });
    expect(await probeSite(access, site.url, current(), signal)).toEqual({ found: 'unchanged' });
  });

  it('fails, to be tried again, for any other answer', async () => {
    site.misbehave({ mode: 'status', status: 503 });
    await expect(probeSite(access, site.url, null, signal)).rejects.toMatchObject({ retryable: true });
  });

  it('says that nothing is there, and that an error page is a page', async () => {
    expect(await probeSite(access, new URL('/PadronRUC_202611.zip', site.url).href, null, signal)).toEqual({
      found: 'absent',
    });
    site.misbehave({ mode: 'html' });
    expect(await probeSite(access, site.url, null, signal)).toMatchObject({ found: 'version', isPage: true });
  });

  it.each([403, 418])('names the setting of the user agent when the site answers %i', async (status) => {
    site.misbehave({ mode: 'status', status });
    await expect(probeSite(access, site.url, null, signal)).rejects.toMatchObject({
      code: 'source_unavailable',
      retryable: true,
      message: `the site answered ${status}: it may refuse SOURCE_USER_AGENT`,
    });
    await expect(take({ limits: { maxFailuresWithoutProgress: 0 } })).rejects.toThrow(/SOURCE_USER_AGENT/);
  });

  it('reads a page, and tells one that is not there from a site that is away', async () => {
    site.page = '<div class="titulo">27/11/2026</div>';
    expect(await readPage(access, site.pageUrl, 10_000, signal)).toContain('27/11/2026');
    site.page = '';
    expect(await readPage(access, site.pageUrl, 10_000, signal)).toBeNull();
    await expect(readPage(access, 'http://127.0.0.1:1/', 10_000, signal)).rejects.toMatchObject({ retryable: true });
  });
});
