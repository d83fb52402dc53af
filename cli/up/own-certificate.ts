import { execFileSync } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { hostname, networkInterfaces } from 'node:os';
import { isIP } from 'node:net';
import { join } from 'node:path';
import { CommandError } from '../command-error.ts';

export type CertificateFiles = { readonly certFile: string; readonly keyFile: string };

/** Long enough for a project, and no longer than browsers accept. */
const validDays = 397;
const soonMs = 24 * 3_600_000;

/**
 * A certificate that a fleet signs for itself, kept in `folder` so that its fingerprint stays. It is made again if it does not name
 * `host`, or expires within a day. Clients must be given the certificate or its fingerprint: no authority knows it.
 */
export function ownCertificate(folder: string, host: string): CertificateFiles {
  const files = { certFile: join(folder, 'certificate.pem'), keyFile: join(folder, 'certificate.key') };
  const names = namesFor(host);
  if (!isStillGood(files, names)) makeCertificate(folder, files, names);
  return files;
}

/** The certificate in the file. Throws a CommandError if it is not one. */
export function readCertificate(file: string): X509Certificate {
  try {
    return new X509Certificate(readFileSync(file));
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new CommandError(`${file} is not a certificate: ${reason}`, 'yours', 'give a file in PEM', error);
  }
}

/** By all names that this machine has at the moment: a client checks the one that it connects to. */
function namesFor(host: string): readonly string[] {
  const addresses = Object.values(networkInterfaces()).flatMap((all) => all ?? []);
  const own = addresses.map(({ address }) => address).filter((address) => !address.startsWith('fe80:'));
  const given = host === '0.0.0.0' || host === '::' ? [] : [host];
  return [...new Set([...given, 'localhost', hostname(), ...own])];
}

function isStillGood({ certFile, keyFile }: CertificateFiles, names: readonly string[]): boolean {
  if (!existsSync(certFile) || !existsSync(keyFile)) return false;
  const certificate = readCertificate(certFile);
  if (certificate.validToDate.getTime() < Date.now() + soonMs) return false;
  return names.every((name) =>
    isIP(name) === 0 ? certificate.checkHost(name) !== undefined : certificate.checkIP(name) !== undefined,
  );
}

function makeCertificate(
  folder: string,
  { certFile, keyFile }: CertificateFiles,
  names: readonly string[],
): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const alternatives = names.map((name) => `${isIP(name) === 0 ? 'DNS' : 'IP'}:${name}`).join(',');
  const argv = [
    ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-batch'],
    ['-subj', '/CN=corral', '-addext', `subjectAltName=${alternatives}`, '-days', String(validDays)],
    ['-keyout', keyFile, '-out', certFile],
  ].flat();
  try {
    // With a mask, so that the key is never open to others, not for a moment either.
    execFileSync('sh', ['-c', 'umask 077; exec openssl "$@"', 'sh', ...argv], { stdio: 'pipe' });
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const next = 'install openssl, or give a certificate with --tls-cert and --tls-key';
    throw new CommandError(`no certificate could be made: ${reason}`, 'this machine', next, error);
  }
}
