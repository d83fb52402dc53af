import { expect, test } from 'vitest';
import { type SystemCall, systemCalls } from '#services/node/seccomp/system-calls.ts';
import { goInside } from '#test/support/inside.ts';
import { startNodeProcess } from '#test/support/sandboxes.ts';

const numberOf = (call: SystemCall) => (process.arch === 'x64' ? call.x64 : call.arm64);
const last = 600;
const EPERM = 1;
const ENOSYS = 38;

/**
 * Calls every number in a process of its own, with arguments that mean nothing: -1 is no address, no descriptor and no
 * process. What waits is ended by its alarm, what ends its process says nothing; neither was refused then.
 */
const callEach = `
use POSIX ();
$| = 1;
for my $number (0 .. ${last}) {
  my $child = fork();
  if ($child == 0) {
    alarm 1;
    my @minus = (-1) x 6;
    my $answer = syscall($number, @minus);
    syswrite STDOUT, "$number " . ($answer == -1 ? $! + 0 : 0) . "\\n";
    POSIX::_exit(0);
  }
  push @children, $child;
  if (@children >= 16) { waitpid shift(@children), 0 }
}
waitpid $_, 0 for @children;
`;

/** What the kernel answers itself, and the filter lets pass. */
const kernelsOwn: Readonly<Record<string, number>> = {
  // Without the capability.
  setgroups: EPERM,
  // An operation that is none, and calls that only 32 bit have, or nobody.
  futex: ENOSYS,
  set_thread_area: ENOSYS,
  get_thread_area: ENOSYS,
  epoll_ctl_old: ENOSYS,
  epoll_wait_old: ENOSYS,
  // -1 asks which one it is.
  personality: 0,
  // -1 asks for no lease.
  fcntl: 0,
  // -1 is no level.
  setsockopt: 0,
};

/** On x86_64, from Linux 6.11 on: how probes return; the kernel shows these to no filter, and answers only to a probe. */
const unfiltered: readonly number[] = process.arch === 'x64' ? [335, 336] : [];

test('from inside, exactly what the table refuses answers EPERM, and what it does not know ENOSYS', async () => {
  const node = await startNodeProcess();
  const inside = await goInside(node);
  const { stdout } = await inside.sh(`cat > each.pl <<'EOF'\n${callEach}\nEOF\nperl each.pl`);
  await inside.leave();
  await node.stop();

  const lines = stdout.head.trim().split('\n');
  const answers = new Map(lines.map((line) => line.split(' ').map(Number) as [number, number]));
  const calls = new Map(systemCalls.map((call) => [numberOf(call), call]));
  const numbers = Array.from({ length: last + 1 }, (_, number) => number);
  const wrong = numbers.flatMap((number) => {
    const call = calls.get(number);
    const answer = answers.get(number) ?? 0;
    const got = answer === EPERM || answer === ENOSYS ? answer : 0;
    const wanted = wantedOf(call);
    return got === wanted || unfiltered.includes(number) ? [] : [{ number, name: call?.name, got, wanted }];
  });
  expect(wrong).toEqual([]);
  expect(lines.length).toBeGreaterThan(last - 20);
});

function wantedOf(call: SystemCall | undefined): number {
  if (call === undefined || call.rule === 'unknown') return ENOSYS;
  return kernelsOwn[call.name] ?? (call.rule === 'allow' ? 0 : EPERM);
}
