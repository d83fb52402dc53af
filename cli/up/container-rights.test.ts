import { expect, test } from 'vitest';
import { type ContainerFacts, missingFlags, requireContainerRights } from './container-rights.ts';

const status = (capabilities: string, seccomp: number) =>
  `Name:\tnode\nCapEff:\t${capabilities}\nSeccomp:\t${seccomp}\n`;
const usual = '00000000800405fb';
const withAdmin = '00000000802405fb';
const masked = '644 640 0:68 / /proc/kcore rw,nosuid - tmpfs tmpfs rw\n';
const open = '640 639 0:65 / /proc rw,nosuid,nodev,noexec,relatime - proc proc rw\n';

const facts = (changes: Partial<ContainerFacts>): ContainerFacts => ({
  isRoot: true,
  status: status(withAdmin, 2),
  mounts: open,
  profile: '',
  ...changes,
});

test.each<[string, Partial<ContainerFacts>, readonly string[]]>([
  ['with all rights', {}, []],
  [
    'as the runtimes start it',
    { status: status(usual, 2), mounts: open + masked },
    ['--cap-add SYS_ADMIN', '--security-opt unmask=ALL (Docker: --security-opt systempaths=unconfined)'],
  ],
  ['without a capability', { status: status(usual, 0) }, ['--cap-add SYS_ADMIN']],
  [
    'as another user than root',
    { isRoot: false, status: status('0', 2) },
    ['--security-opt seccomp=unconfined'],
  ],
  ['as another user, without a filter', { isRoot: false, status: status('0', 0) }, []],
  ['under AppArmor', { profile: 'docker-default (enforce)' }, ['--security-opt apparmor=unconfined']],
  ['under AppArmor that only complains', { profile: 'docker-default (complain)' }, []],
])('a container %s lacks exactly these flags', (_, changes, flags) => {
  expect(missingFlags(facts(changes))).toEqual(flags);
});

test('outside of the image nothing is asked', () => {
  expect(() => requireContainerRights({})).not.toThrow();
});
