import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { makeWebhookSecret, openSecret, parseKeyRing, sealSecret } from '../../../../pipelines/runtime/secrets.ts';

const key = () => randomBytes(32).toString('base64');

describe('webhook secrets at rest', () => {
  it('open with their key after a rotation, and with no other key', () => {
    const [old, fresh] = [key(), key()];
    const secret = makeWebhookSecret();
    const sealed = sealSecret(parseKeyRing(`k1:${old}`), 'wh_1', secret);
    expect(sealed.keyId).toBe('k1');
    const rotated = parseKeyRing(`k2:${fresh},k1:${old}`);
    expect(openSecret(rotated, 'wh_1', sealed)).toBe(secret);
    expect(sealSecret(rotated, 'wh_1', secret).keyId).toBe('k2');
    expect(() => openSecret(parseKeyRing(`k2:${fresh}`), 'wh_1', sealed)).toThrow('no key k1');
    expect(() => openSecret(parseKeyRing(`k1:${fresh}`), 'wh_1', sealed)).toThrow('does not open');
  });

  it('do not open for another webhook, or when they are changed or cut', () => {
    const ring = parseKeyRing(`k1:${key()}`);
    const sealed = sealSecret(ring, 'wh_1', makeWebhookSecret());
    expect(() => openSecret(ring, 'wh_2', sealed)).toThrow('does not open');
    for (let at = 0; at < sealed.sealed.length; at += 7) {
      const changed = Buffer.from(sealed.sealed);
      changed[at] = changed[at]! ^ 1;
      expect(() => openSecret(ring, 'wh_1', { ...sealed, sealed: changed })).toThrow('does not open');
    }
    expect(() => openSecret(ring, 'wh_1', { ...sealed, sealed: sealed.sealed.subarray(0, 20) })).toThrow(
      'does not open',
    );
  });

  it('are sealed differently each time and never appear in the sealed bytes', () => {
    const ring = parseKeyRing(`k1:${key()}`);
    const secret = makeWebhookSecret();
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    const [one, two] = [sealSecret(ring, 'wh_1', secret), sealSecret(ring, 'wh_1', secret)];
    expect(one.sealed.equals(two.sealed)).toBe(false);
    expect(one.sealed.toString('latin1')).not.toContain(secret.slice(6, 20));
  });

  it.each([
    '',
    'k1',
    'k1:short',
    `k1:${randomBytes(31).toString('base64')}`,
    `k 1:${key()}`,
    `k1:${key()},k1:${key()}`,
  ])('a key ring "%s" is refused without repeating it', (text) => {
    expect(() => parseKeyRing(text)).toThrow(/key/);
    if (text.length > 10) expect(() => parseKeyRing(text)).not.toThrow(text.slice(4, 40));
  });
});
