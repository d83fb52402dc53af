import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { systemCalls } from '#services/node/seccomp/system-calls.ts';
import { sharedFleet } from '#test/support/shared-fleet.ts';

/**
 * Goal: to reach another rollout on the same machine, to talk to it, to take something from it, or to leave the sandbox
 * for the machine. Two rollouts that both want to, as their policies may learn to, must not be able to either.
 *
 * What remains on one machine, since sandboxes read the same files of it: a lock (`flock`) that one takes on a program
 * is seen by the other, and `inotify` on it tells that somebody used it. That is a signal between two that agreed, of
 * some bits a second, and no answer of a row passes by it unseen. Caches, the time that others leave, and what
 * `/proc` counts for the whole machine (load, memory, pseudo terminals) speak too. Where
 * that is too much, give each sandbox its own files and kernel: a cluster with gVisor or Kata.
 */
const corral = sharedFleet();

let calls = 0;
/** What a command of a rollout says; it must be answered, whatever it does. */
async function say(trace: string, command: string): Promise<string> {
  calls += 1;
  const environment = trace.startsWith('root') ? 'rooted' : 'shell';
  const { status, body } = await corral.rft.call({ trace, call: `c${calls}`, command, environment });
  expect({ status, body }).toMatchObject({ status: 200, body: { output: expect.any(String) } });
  return (body as { output: string }).output;
}

function numberOf(name: string): number {
  const call = systemCalls.find((each) => each.name === name);
  const number = process.arch === 'x64' ? call?.x64 : call?.arm64;
  if (typeof number !== 'number') throw new Error(`${name} has no number here`);
  return number;
}

/** Makes a system call from perl, which every Debian has, and says what came of it. */
const call = (name: string, ...args: readonly (number | string)[]) =>
  `perl -e '@a = (${args.join(', ')}); $r = syscall(${numberOf(name)}, @a); print $r < 0 ? "$!\\n" : "done: $r\\n"'`;

const attach = (pid: number) => call('ptrace', 16, pid, 0, 0);

const refused = 'Operation not permitted\n';

/** As a launch mounts them for a sandbox, 100 times. Holds all of their terminals until its stdin ends. */
const takeTerminals = `
  $| = 1; my @all; my @at = map { "$ARGV[0]/$_" } 1 .. 100; my $how = "newinstance,ptmxmode=0666,max=32";
  for (@at) { mkdir $_; system("mount", "-t", "devpts", "-o", $how, "devpts", $_) == 0 or die "no mount" }
  for my $at (@at) { while (open my $f, "+<", "$at/ptmx") { push @all, $f } }
  print @all . "\\n"; <STDIN>;`;

describe('two rollouts that want to talk', () => {
  test.each([
    ['the keys of their user', -4],
    ['the keys of the session that node was started in', -3],
  ])('do not by %s', async (_, keyring) => {
    const put = call('add_key', '"user"', '"note"', '"secret"', 6, keyring);
    expect(await say('teller', put)).toBe(refused);
    expect(await say('listener', call('keyctl', 10, keyring, '"user"', '"note"', 0))).toBe(refused);
  });

  test('do not by a socket that is a name only', async () => {
    const address = 'pack_sockaddr_un("\\0corral-talk")';
    const listen = `perl -MSocket -e 'socket(S, AF_UNIX, SOCK_STREAM, 0); bind(S, ${address}) && listen(S, 1) && print "listens\\n"; $| = 1; close STDOUT; sleep 20' & sleep 0.5`;
    expect(await say('teller', listen)).toContain('listens');
    const connect = `perl -MSocket -e 'socket(S, AF_UNIX, SOCK_STREAM, 0); print connect(S, ${address}) ? "heard" : "$!"'`;
    expect(await say('listener', connect)).toBe('Connection refused');
  });

  test('do not by shared memory, its files, or files of theirs', async () => {
    const make = 'perl -e \'print defined shmget(4242, 64, 01666) ? "made\\n" : "$!\\n"\'';
    expect(
      await say('teller', `${make}; echo note > /dev/shm/note; echo note > /tmp/note; echo note > note`),
    ).toBe('made\n');
    const find = 'perl -e \'print defined shmget(4242, 64, 0) ? "found" : "$!"\'; ls -A /dev/shm /tmp .';
    expect(await say('listener', find)).toBe('No such file or directory.:\n\n/dev/shm:\n\n/tmp:\n');
  });

  test('do not by the machine: vsock passes every network namespace', async () => {
    expect(await say('teller', call('socket', 40, 1, 0))).toBe(refused);
    expect(await say('root-teller', call('socket', 40, 1, 0))).toBe(refused);
  });
});

describe('one rollout against another', () => {
  test('takes all that the kernel grants a user, and the other has all of its own', async () => {
    const take = `$| = 1; $n++ while $n < 1000 && syscall(${numberOf('inotify_init1')}, 0) >= 0; print "$n\\n";`;
    const taken = await say('taker', `perl -e '${take} close STDOUT; sleep 20' & sleep 1`);
    expect(Number(taken)).toBeGreaterThan(10);
    expect(await say('other', `perl -e '${take}'`)).toBe(taken);
  });

  test('takes none of what the kernel counts for the whole machine: its queues for files are not there', async () => {
    expect(await say('taker', call('io_setup', 65_536, 0))).toBe('Function not implemented\n');
  });

  test('cannot hold more in sockets to itself than its share: what all of them hold is one number', async () => {
    const hold = [
      'use Socket; use IO::Handle; my ($sum, @all);',
      'socket(my $l, AF_INET, SOCK_STREAM, 0); bind($l, sockaddr_in(5000, INADDR_LOOPBACK)); listen($l, 400);',
      'for (1 .. 100) { socket(my $x, AF_INET, SOCK_STREAM, 0); connect($x, sockaddr_in(5000, INADDR_LOOPBACK));',
      'accept(my $y, $l); $x->blocking(0); while (my $n = syswrite($x, "x" x 65536)) { $sum += $n } push @all, $x, $y }',
      'print $sum > 80e6 ? "$sum bytes\\n" : "held\\n";',
    ].join(' ');
    expect(await say('holder', `perl -e '${hold}'`)).toBe('held\n');
    expect(await say('holder', 'echo still here')).toBe('still here\n');
  });

  test('takes all pseudo terminals that it gets, and the other still opens one', async () => {
    const take = '$| = 1; while (open my $f, "+<", "/dev/ptmx") { push @all, $f } print @all . "\\n";';
    const taken = await say('taker', `perl -e '${take} close STDOUT; sleep 20' & sleep 1`);
    expect(Number(taken)).toBeLessThan(100);
    expect(await say('other', 'script -qc "echo on a terminal" /dev/null')).toBe('on a terminal\r\n');
  });

  test('and 100 more that take all of theirs leave enough pseudo terminals for the other', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'corral-taken-'));
    const holding = 'ulimit -n 4096 && exec unshare --mount perl -e "$0" "$1"';
    const taking = spawn('sh', ['-c', holding, takeTerminals, folder], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    try {
      const [taken] = (await once(taking.stdout, 'data')) as [Buffer];
      expect(String(taken)).toBe('3200\n');
      expect(await say('other', 'script -qc "echo on a terminal" /dev/null')).toBe('on a terminal\r\n');
    } finally {
      const ended = once(taking, 'exit');
      taking.stdin.end();
      await ended;
      await rm(folder, { recursive: true });
    }
  });

  test('sees no process of it, and signals to all numbers reach none', async () => {
    expect(await say('other', 'sleep 4242 > /dev/null 2>&1 & echo runs')).toBe('runs\n');
    const attack =
      'grep -l 42[4]2 /proc/[0-9]*/cmdline; for pid in $(seq 3 400); do [ $pid = $$ ] || kill -9 $pid 2>/dev/null; done; echo over';
    expect(await say('taker', attack)).toBe('over\n');
    // Root may end its own daemon, whose threads have numbers too: that is the end of its own rollout.
    expect(await say('root-killer', attack)).toMatch(/a command killed the process that runs commands/);
    expect(await say('other', 'cat /proc/[0-9]*/cmdline | tr "\\0" " " | grep -c "sleep 42[4]2"')).not.toBe(
      '0\n',
    );
  });

  test('traces nobody: neither its own daemon nor the sandbox’s first process', async () => {
    expect(await say('taker', `${attach(1)}; ${attach(2)}`)).toBe(refused.repeat(2));
    expect(
      await say('taker', 'cat /proc/2/environ /proc/2/mem /proc/1/root/etc/passwd 2>&1 | grep -c denied'),
    ).toBe('3\n');
  });
});

describe('the way out to the machine', () => {
  test('no descriptor of whoever started the fleet is there', async () => {
    expect(await say('leaver', 'ls /proc/self/fd')).toBe('0\n1\n2\n3\n');
  });

  const newUserNamespace = 0x1000_0011;
  test.each([
    ['a new user namespace', call('unshare', 0x1000_0000)],
    ['one with a new process', call('clone', newUserNamespace, 0, 0, 0, 0)],
    ['a namespace of others', call('setns', 0, 0)],
    ['a mount', call('mount', '"none"', '"/tmp"', '"tmpfs"', 0, 0)],
    ['a mount by the newer calls', call('fsopen', '"tmpfs"', 0)],
    ['another root', call('chroot', '"/tmp"')],
    ['a program in the kernel', call('bpf', 0, 0, 0)],
    ['a ring of calls that no filter sees', call('io_uring_setup', 8, 0)],
    ['a file by its handle', call('open_by_handle_at', -100, 0, 0)],
  ])('%s is refused, to root too', async (_, attack) => {
    expect(await say('leaver', attack)).toBe(refused);
    expect(await say('root-leaver', attack)).toBe(refused);
  });

  test('clone3, whose flags no filter can read, is not there: programs take clone', async () => {
    expect(await say('leaver', call('clone3', 0, 0))).toBe('Function not implemented\n');
  });

  test('root inside is nobody on the machine: what belongs to its root stays closed', async () => {
    const script =
      'stat -c %u /usr; for f in /proc/sys/kernel/core_pattern /usr/x; do echo x > $f && echo "wrote $f"; done 2>/dev/null; true';
    expect(await say('root-leaver', script)).toBe('65534\n');
  });
});

describe('root in its sandbox against the gateway', () => {
  test('cannot put a link to node’s socket in the place of its daemon’s, and is heard and scored as before', async () => {
    const script =
      'cd /.corral/daemon && (rm -f d.sock; ln -s ../../../node.sock d.sock; mv d.sock e.sock) 2>/dev/null; stat -c %F /.corral/daemon/d.sock';
    expect(await say('root-linker', script)).toBe('socket\n');
    expect(await say('root-linker', 'echo heard')).toBe('heard\n');
    const sample = { output_text: '42', output_tools: [] };
    const grade = { trace: 'root-linker', sample, environment: 'rooted' };
    expect(await corral.rft.grade(grade)).toMatchObject({ status: 200, body: { score: 1 } });
  });
});
