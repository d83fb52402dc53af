import { closeSync, readdirSync, readFileSync, readlinkSync, realpathSync } from 'node:fs';

/** `O_CLOEXEC`, the same on both architectures that we run on. */
const closesOnExec = 0o2000000;

/**
 * Closes what this process was left open by who started it: a pipe of a launcher's, a folder. Node's `spawn` closes
 * nothing for its children, so all of it would reach every sandbox. All that is open with it is Node's own, which marks
 * what it opens; the call comes before anything else is opened all the same. Descriptors 0 to 2 are ours to have.
 */
export function closeInheritedDescriptors(): void {
  for (const descriptor of readdirSync('/proc/self/fd').map(Number)) {
    if (descriptor > 2 && isInherited(descriptor)) closeSync(descriptor);
  }
}

function isInherited(descriptor: number): boolean {
  const flags = /^flags:\t(\d+)/m.exec(
    orEmpty(() => readFileSync(`/proc/self/fdinfo/${descriptor}`, 'utf8')),
  )?.[1];
  const isMarked = flags === undefined || (Number.parseInt(flags, 8) & closesOnExec) !== 0;
  return !isMarked && !isOfCertificates(orEmpty(() => readlinkSync(`/proc/self/fd/${descriptor}`)));
}

/**
 * Certificates to trust are read by a thread of Node's own, at any moment after the start and unmarked. Closed in
 * between, that thread would later close what has got the same number. Nothing in them is secret.
 */
function isOfCertificates(path: string): boolean {
  const { NODE_EXTRA_CA_CERTS, SSL_CERT_FILE, SSL_CERT_DIR } = process.env;
  const told = [NODE_EXTRA_CA_CERTS, SSL_CERT_FILE, SSL_CERT_DIR, ...usualCertificates];
  const places = told
    .map((place) => orEmpty(() => realpathSync(place ?? '')))
    .filter((place) => place !== '');
  return path === '' || places.some((place) => path === place || path.startsWith(`${place}/`));
}

/** Debian's and Red Hat's. */
const usualCertificates = ['/etc/ssl/certs', '/usr/share/ca-certificates', '/etc/pki/ca-trust'];

/** What is gone meanwhile was open for this very look. */
function orEmpty(look: () => string): string {
  try {
    return look();
  } catch {
    return '';
  }
}
