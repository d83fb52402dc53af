import { describe, expect, it } from 'vitest';
import { verdictOf, verdicts } from '#test/support/seccomp-verdict.ts';
import { compileFilter } from './filter.ts';
import { type Rule, type SystemCall, systemCalls } from './system-calls.ts';

const { allowed, refused, unknown } = verdicts;

const x64 = { name: 'x64', audit: 0xc000_003e, numberOf: (call: SystemCall) => call.x64 };
const arm64 = { name: 'arm64', audit: 0xc000_00b7, numberOf: (call: SystemCall) => call.arm64 };
const i386 = 0x4000_0003;

/** Beyond the newest call, as far as the kernel may have come in years. */
const numbers = Array.from({ length: 700 }, (_, number) => number);

/** With arguments that are all zero: of those that are looked at, a process without new namespaces and plain Linux. */
const wanted: Readonly<Record<Rule, (name: string) => string>> = {
  allow: () => allowed,
  refuse: () => refused,
  unknown: () => unknown,
  arguments: (name) => (name.startsWith('socket') ? refused : allowed),
};

describe.each([x64, arm64])('the filter for $name', ({ name, audit, numberOf }) => {
  const program = compileFilter(name);
  const call = (wantedName: string, ...args: readonly number[]) => {
    const found = systemCalls.find((each) => each.name === wantedName);
    const number = found === undefined ? null : numberOf(found);
    if (number === null) throw new Error(`${name} has no ${wantedName}`);
    return verdictOf(program, { audit, number, args });
  };

  it('says of every number what the table says, and of those that are nobody’s ENOSYS', () => {
    const table = numbers.map((number) => {
      const found = systemCalls.find((each) => numberOf(each) === number);
      return found === undefined ? unknown : wanted[found.rule](found.name);
    });
    expect(numbers.map((number) => verdictOf(program, { audit, number }))).toEqual(table);
  });

  it.each([
    ['i386', { audit: i386, number: 11 }],
    ['the other architecture', { audit: name === 'x64' ? arm64.audit : x64.audit, number: 63 }],
    ['x32', { audit, number: 0x4000_0000 }],
    ['the last number', { audit, number: 0xffff_ffff }],
  ])('knows no call of %s', (_, from) => {
    expect(verdictOf(program, from)).toBe(unknown);
  });

  it.each([
    ['a thread', 0x003d_0f00, allowed],
    ['a process', 0x0120_0011, allowed],
    ['a user namespace', 0x1000_0011, refused],
    ['a mount namespace', 0x0002_0011, refused],
    ['a network namespace beside a thread', 0x4001_0f00, refused],
    ['a cgroup namespace', 0x0200_0011, refused],
    ['a child of its parent', 0x0000_8011, refused],
  ])('clone of %s: %#', (_, flags, verdict) => {
    expect(call('clone', flags)).toBe(verdict);
  });

  it.each([
    ['unix', 1, allowed],
    ['IPv4', 2, allowed],
    ['IPv6', 10, allowed],
    ['netlink', 16, allowed],
    ['packet', 17, refused],
    ['alg', 38, refused],
    ['vsock', 40, refused],
    ['xdp', 44, refused],
  ])('a socket of family %s', (_, family, verdict) => {
    expect(call('socket', family)).toBe(verdict);
    expect(call('socketpair', family)).toBe(verdict);
  });

  it.each([
    ['a lease of a file', 1024, verdicts.invalid],
    ['a lease of a folder', 1040, verdicts.invalid],
    ['whether there is a lease', 1025, allowed],
    ['close-on-exec', 2, allowed],
  ])('fcntl for %s', (_, command, verdict) => {
    expect(call('fcntl', 3, command)).toBe(verdict);
  });

  it.each([
    [0, allowed],
    [2, verdicts.noProtocol],
    [16, verdicts.noProtocol],
  ])('netlink of protocol %i', (protocol, verdict) => {
    expect(call('socket', 16, 3, protocol)).toBe(verdict);
    expect(call('socket', 2, 1, protocol)).toBe(allowed);
  });

  it('lets a program ask for its personality, and not turn off randomised addresses', () => {
    expect(call('personality', 0xffff_ffff)).toBe(allowed);
    expect(call('personality', 0x004_0000)).toBe(refused);
  });

  it.each(['add_key', 'keyctl', 'unshare', 'setns', 'mount', 'bpf', 'io_uring_setup', 'name_to_handle_at'])(
    'refuses %s',
    (each) => {
      expect(call(each)).toBe(refused);
    },
  );

  it.each(['cachestat', 'fchmodat2'])('allows %s, which is newer than the others', (each) => {
    expect(call(each)).toBe(allowed);
  });

  it('is short enough for the kernel, and whole instructions', () => {
    expect(program.length % 8).toBe(0);
    expect(program.length / 8).toBeLessThanOrEqual(4096);
  });
});

it('an architecture without numbers has no filter, and says so', () => {
  expect(() => compileFilter('riscv64')).toThrow(/none for riscv64/);
});
