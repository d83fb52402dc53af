import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

export type Certificate = { readonly cert: string; readonly key: string };

/** A certificate of its own for 127.0.0.1, valid for a day. */
export async function makeCertificate(): Promise<Certificate> {
  const folder = await mkdtemp(join(tmpdir(), 'corral-certificate-'));
  const [certFile, keyFile] = [join(folder, 'cert.pem'), join(folder, 'key.pem')];
  const made = ['-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '1'];
  const named = ['-subj', '/CN=api', '-addext', 'subjectAltName=IP:127.0.0.1'];
  try {
    await run('openssl', ['req', ...made, ...named, '-keyout', keyFile, '-out', certFile]);
    return { cert: await readFile(certFile, 'utf8'), key: await readFile(keyFile, 'utf8') };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
