import { existsSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { join, resolve } from 'node:path';
import { createKey } from '#src/access/keys.ts';
import { runId, tenantId } from '#src/model/ids.ts';
import { systemRandom } from '#src/platform/random.ts';
import { CommandError } from '../command-error.ts';
import { readKeys, writeKeys } from '../fleet/keys.ts';
import type { OuterDoor } from '../fleet/parts.ts';
import { stateFolderAt } from '../fleet/state-folder.ts';
import { type CertificateFiles, ownCertificate, readCertificate } from './own-certificate.ts';
import { describeReach, isLoopbackHost } from './reach.ts';

export type OuterDoorOptions = {
  readonly host: string;
  readonly state: string;
  /** False with `--no-tls`. */
  readonly tls: boolean;
  readonly tlsCert?: string;
  readonly tlsKey?: string;
  readonly firstKey: boolean;
};

/** How a fleet is reached beyond this machine, and what to say of it. */
export type OuterDoorPlan = {
  readonly door: Omit<OuterDoor, 'port'>;
  /** SHA-256 of the certificate; null: what passes is not encrypted. */
  readonly fingerprint: string | null;
  /** The file with the certificate that the fleet signed itself; null: it was given one, or has none. */
  readonly ownCertificate: string | null;
  /** Which machines can connect. */
  readonly reach: string;
  /** The key that was made for this start, shown once; null: there were keys. */
  readonly firstKey: string | null;
};

/** Null: the fleet is for this machine only. Throws a CommandError if the way in would not be safe. */
export function planOuterDoor(options: OuterDoorOptions): OuterDoorPlan | null {
  const { host } = options;
  if (isLoopbackHost(host)) {
    if (options.tlsCert === undefined && options.tlsKey === undefined) return null;
    throw new CommandError(
      'on loopback nothing is encrypted',
      'yours',
      'leave out --tls-cert and --tls-key, or give the address of a network with --host',
    );
  }
  const tls = options.tls ? certificateFor(options) : null;
  const firstKey = ensureKeys(options);
  return {
    door: { host, tls },
    fingerprint: tls === null ? null : readCertificate(tls.certFile).fingerprint256,
    ownCertificate: tls !== null && options.tlsCert === undefined ? tls.certFile : null,
    reach: describeReach(host, networkInterfaces()),
    firstKey,
  };
}

function certificateFor({ tlsCert, tlsKey, host, state }: OuterDoorOptions): CertificateFiles {
  if (tlsCert === undefined && tlsKey === undefined) return ownCertificate(resolve(join(state, 'tls')), host);
  for (const file of [tlsCert, tlsKey]) {
    if (file === undefined || !existsSync(file)) {
      const said =
        file === undefined ? 'one of --tls-cert and --tls-key is missing' : `there is no file ${file}`;
      throw new CommandError(
        said,
        'yours',
        'give both files, or neither for a certificate of the fleet itself',
      );
    }
  }
  return { certFile: resolve(tlsCert ?? ''), keyFile: resolve(tlsKey ?? '') };
}

/** Plays rollouts, and does not read the truth of a dataset. */
const firstKeyOf = () =>
  createKey(
    {
      id: 'first',
      tenant: tenantId('default'),
      scopes: ['rft:tools', 'rft:grade', 'native'],
      defaultRun: runId('first'),
      expiresAtMs: null,
    },
    systemRandom,
  );

/** Returns the text of a key that was made; null if there were keys. */
function ensureKeys({ host, state, firstKey }: OuterDoorOptions): string | null {
  const { keysFile } = stateFolderAt(state);
  if (readKeys(keysFile).length > 0) return null;
  if (!firstKey) {
    throw new CommandError(
      `at ${host} only keys of a key file are valid, and ${keysFile} has none`,
      'yours',
      `make one with "corral keys create NAME --state ${state}", or start with --first-key`,
    );
  }
  const { key, presented } = firstKeyOf();
  writeKeys(keysFile, [key]);
  return presented;
}
