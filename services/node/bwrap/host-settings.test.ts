import { posix } from 'node:path';
import { expect, it } from 'vitest';
import { type Kept, notCovered, settingsOfHost } from './host-settings.ts';

/** A host of these files; what ends with `/` is a folder, and what contains `->` a link. */
async function keptOf(...paths: readonly string[]): Promise<readonly string[]> {
  const list = async (folder: string) => {
    const below = folder === '/' ? '/' : `${folder}/`;
    const names = new Map<string, 'folder' | 'file' | 'link'>();
    for (const path of paths.filter((each) => each.startsWith(below))) {
      const [name = '', ...rest] = path.slice(below.length).split('/');
      if (name === '') continue;
      const isLink = name.includes('->');
      names.set(name.replace('->', ''), isLink ? 'link' : rest.length > 0 ? 'folder' : 'file');
    }
    return [...names].map(([name, kind]) => ({ name, kind }));
  };
  return (await settingsOfHost(list)).map(({ path }) => path);
}

it.each([
  '/usr/local/etc',
  '/usr/etc',
  '/usr/lib/credstore.encrypted',
  '/usr/local/share/.kube',
  '/usr/src/app/.ssh',
  '/usr/lib/ssl/private',
])('the folder %s is kept, as a whole', async (folder) => {
  expect(await keptOf(posix.join(folder, 'npmrc'), '/usr/bin/sh')).toEqual([folder]);
});

it.each([
  '/usr/lib/node_modules/npm/npmrc',
  '/usr/pip.conf',
  '/usr/src/app/.env',
  '/usr/src/app/.env.production',
  '/usr/local/cargo/credentials.toml',
  '/usr/local/cargo/credentials',
  '/usr/share/app/_netrc',
  '/usr/share/app/gcp-service_account.json',
  '/usr/share/app/application_default_credentials.json',
  '/usr/share/app/prod.kubeconfig',
  '/usr/share/app/server.key',
  '/usr/share/ssh/id_ed25519',
  '/usr/share/ssh/ssh_host_rsa_key',
])('the file %s is kept', async (file) => {
  expect(await keptOf(file)).toEqual([file]);
});

it.each([
  '/usr/lib/python3.11/secrets.py',
  '/usr/lib/python3.11/netrc.py',
  '/usr/lib/python3/dist-packages/certifi/cacert.pem',
  '/usr/lib/git-core/git-credential-store',
  '/usr/lib/jvm/java/lib/security/cacerts',
  '/usr/lib/git-core/git-credential',
  '/usr/bin/htpasswd',
  '/usr/local/sbin/netrc',
  '/usr/share/doc/htpasswd',
  '/usr/lib/git/git-credential',
  '/usr/bin/npmrc->',
  '/usr/include/openssl/ssl.h',
])('%s, which programs need, is there', async (file) => {
  expect(await keptOf(file)).toEqual([]);
});

it('what a folder that cannot be listed has is not looked for', async () => {
  expect(await settingsOfHost(() => Promise.reject(new Error('EACCES')))).toEqual([]);
});

it('what the template mounts there is the author’s', () => {
  const kept = ['/usr/local/etc', '/usr/share/x/.env'].map((path): Kept => ({ path, kind: 'file' }));
  const pathsLeft = (...targets: readonly string[]) => notCovered(kept, targets).map(({ path }) => path);
  expect(pathsLeft('/usr/local', '/usr/share/x/.env')).toEqual([]);
  expect(pathsLeft('/usr/local/etc/mine', '/usr/loc', '/usr/share/x/.envy')).toHaveLength(2);
});
