import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';

/**
 * Keys that encrypt stored secrets. AES-256-GCM seals a secret with its owner's id as additional data. Otherwise a
 * sealed secret that is copied to another owner's row could be opened there. The sealed bytes are a nonce of 12 bytes,
 * a tag of 16 bytes, and the ciphertext. The sealing key's id is stored beside the sealed bytes (key_id).
 */
export interface KeyRing {
  /** The keys by their ids. The first key seals secrets; all keys open them. */
  keys: ReadonlyMap<string, Buffer>;
  sealingKeyId: string;
}

export interface SealedSecret {
  keyId: string;
  sealed: Buffer;
}

export class SecretError extends Error {
  override name = 'SecretError';
  readonly code: 'key_ring_invalid' | 'key_unknown' | 'secret_not_opened';

  constructor(code: SecretError['code'], message: string) {
    super(message);
    this.code = code;
  }
}

const nonceBytes = 12;
const tagBytes = 16;

/**
 * Reads `id:base64-of-32-bytes[,older…]` (WEBHOOK_SECRET_KEYS).
 * @throws SecretError, whose message repeats no key material
 */
export function parseKeyRing(text: string): KeyRing {
  const keys = new Map<string, Buffer>();
  for (const entry of text.split(',')) {
    const match = /^([A-Za-z0-9_-]{1,32}):([A-Za-z0-9+/]{43}=)$/.exec(entry.trim());
    if (match === null)
      throw new SecretError('key_ring_invalid', 'each key is id:base64 of 32 bytes, separated by commas');
    if (keys.has(match[1]!)) throw new SecretError('key_ring_invalid', `key id ${match[1]} is named twice`);
    keys.set(match[1]!, Buffer.from(match[2]!, 'base64'));
  }
  return { keys, sealingKeyId: keys.keys().next().value! };
}

/** Makes a webhook secret as its customer sees it: `whsec_` + base64 of 32 random bytes. */
export function makeWebhookSecret(): string {
  return `whsec_${randomBytes(32).toString('base64')}`;
}

export function sealSecret(ring: KeyRing, owner: string, secret: string): SealedSecret {
  const nonce = randomBytes(nonceBytes);
  const cipher = createCipheriv('aes-256-gcm', ring.keys.get(ring.sealingKeyId)!, nonce, { authTagLength: tagBytes });
  cipher.setAAD(Buffer.from(owner, 'utf8'));
  const text = Buffer.concat([cipher.update(secret, 'utf8'), cipher.final()]);
  return { keyId: ring.sealingKeyId, sealed: Buffer.concat([nonce, cipher.getAuthTag(), text]) };
}

/** @throws SecretError when the key is not in the ring, or the bytes are not what was sealed for this owner */
export function openSecret(ring: KeyRing, owner: string, { keyId, sealed }: SealedSecret): string {
  const key = ring.keys.get(keyId);
  if (key === undefined) throw new SecretError('key_unknown', `no key ${keyId} in the key ring`);
  try {
    const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, nonceBytes), { authTagLength: tagBytes });
    decipher.setAAD(Buffer.from(owner, 'utf8'));
    decipher.setAuthTag(sealed.subarray(nonceBytes, nonceBytes + tagBytes));
    const text = Buffer.concat([decipher.update(sealed.subarray(nonceBytes + tagBytes)), decipher.final()]);
    return text.toString('utf8');
  } catch {
    throw new SecretError('secret_not_opened', `the sealed secret of ${owner} does not open with key ${keyId}`);
  }
}
