// The certificate library's dependency injection refuses to load unless this import comes first.
import 'reflect-metadata';
import type { webcrypto } from 'node:crypto';
import * as x509 from '@peculiar/x509';
import type { Certificate } from '../../../deploy/local/demo/receiver.ts';

/**
 * A certificate authority for servers and clients on this machine. Only a process that is configured to trust it does
 * so.
 */
export interface Authority {
  caPem: string;
  issue: (options: CertificateOptions) => Promise<Certificate>;
}

interface CertificateOptions {
  /** DNS names and IP addresses that the certificate is for. The first one is also its subject. */
  names: readonly string[];
  notBefore?: Date;
  notAfter?: Date;
}

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;
const dayMs = 86_400_000;

export async function makeAuthority(commonName: string): Promise<Authority> {
  const keys = await crypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const issuer = `CN=${commonName}`;
  const root = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: serialNumber(),
    name: issuer,
    notBefore: new Date(Date.now() - dayMs),
    notAfter: new Date(Date.now() + 30 * dayMs),
    signingAlgorithm: algorithm,
    keys,
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
    ],
  });
  const caPem = root.toString('pem');
  return {
    caPem,
    issue: async (options) => ({ ...(await issue(issuer, keys.privateKey, options)), caPem }),
  };
}

async function issue(issuer: string, signingKey: webcrypto.CryptoKey, options: CertificateOptions) {
  const keys = await crypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const certificate = await x509.X509CertificateGenerator.create({
    serialNumber: serialNumber(),
    subject: `CN=${options.names[0]}`,
    issuer,
    notBefore: options.notBefore ?? new Date(Date.now() - dayMs),
    notAfter: options.notAfter ?? new Date(Date.now() + 7 * dayMs),
    signingAlgorithm: algorithm,
    publicKey: keys.publicKey,
    signingKey,
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth, x509.ExtendedKeyUsage.clientAuth]),
      new x509.SubjectAlternativeNameExtension(
        options.names.map((name) => ({
          type: /^[0-9.]+$|:/.test(name) ? ('ip' as const) : ('dns' as const),
          value: name,
        })),
      ),
    ],
  });
  const key = x509.PemConverter.encode(await crypto.subtle.exportKey('pkcs8', keys.privateKey), 'PRIVATE KEY');
  return { certificatePem: certificate.toString('pem'), keyPem: key };
}

/** Sixteen random bytes in hex. The first bit is 0, because a certificate's serial number must be positive. */
function serialNumber(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[0] = (bytes[0]! & 0x3f) | 0x40;
  return Buffer.from(bytes).toString('hex');
}
