import { readFileSync } from 'node:fs';
import { CommandError } from '../command-error.ts';
import { docsPage } from '#src/platform/docs.ts';

/** What the kernel says of a container's first process. */
export type ContainerFacts = {
  readonly isRoot: boolean;
  /** `/proc/self/status`. */
  readonly status: string;
  /** `/proc/self/mountinfo`. */
  readonly mounts: string;
  /** The AppArmor profile, such as `docker-default (enforce)`; '' without AppArmor. */
  readonly profile: string;
};

/** Flags of podman, with Docker's where that has another. */
const flags = {
  capability: '--cap-add SYS_ADMIN',
  masks: '--security-opt unmask=ALL (Docker: --security-opt systempaths=unconfined)',
  filter: '--security-opt seccomp=unconfined',
  profile: '--security-opt apparmor=unconfined',
} as const;

const sysAdmin = 1n << 21n;

/** The flags without which this container can make no sandbox. */
export function missingFlags({ isRoot, status, mounts, profile }: ContainerFacts): readonly string[] {
  const capabilities = BigInt(`0x${/^CapEff:\t([0-9a-f]{1,32})$/m.exec(status)?.[1] ?? '0'}`);
  const mayAdministrate = (capabilities & sysAdmin) !== 0n;
  return [
    // Root makes mount namespaces by itself; another user makes one of its own users first, which the runtimes' filters refuse.
    ...(isRoot && !mayAdministrate ? [flags.capability] : []),
    ...(!isRoot && /^Seccomp:\t2$/m.test(status) ? [flags.filter] : []),
    ...(hidesProc(mounts) ? [flags.masks] : []),
    ...(profile.endsWith('(enforce)') ? [flags.profile] : []),
  ];
}

/** A runtime mounts over parts of `/proc`; then the kernel refuses a new `/proc`, which would show them. */
const hidesProc = (mounts: string): boolean =>
  mounts.split('\n').some((line) => line.split(' ')[4]?.startsWith('/proc/'));

/** In the image `corral-local`, the flags that are missing; elsewhere none are asked for. */
export function missingFlagsHere(variables: Variables): readonly string[] {
  if (variables['CORRAL_IN_CONTAINER'] !== '1') return [];
  return missingFlags({
    isRoot: process.getuid?.() === 0,
    status: readOr('/proc/self/status'),
    mounts: readOr('/proc/self/mountinfo'),
    profile: readOr('/proc/self/attr/current').trim(),
  });
}

type Variables = Readonly<Record<string, string | undefined>>;

/** In the image `corral-local`: throws a CommandError with the flags that are missing. Elsewhere it does nothing. */
export function requireContainerRights(variables: Variables): void {
  const missing = missingFlagsHere(variables);
  if (missing.length === 0) return;
  throw new CommandError(
    'this container has too few rights to make sandboxes',
    'yours',
    `start it with ${missing.join(' and ')}, or with --privileged, which also lets limits hold: ${docsPage('one-machine.md')}`,
  );
}

function readOr(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
