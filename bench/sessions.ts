import { setTimeout as sleep } from 'node:timers/promises';
import type { SandboxTarget } from '#src/ports/sandbox-link.ts';
import type { BuiltinAction, CallAnswer } from '#src/protocol/sandboxd/wire.ts';
import { atMost, type Benchmark, type Figure, inTurns, median, type Round, within } from './figures.ts';
import { startStraight, type Straight } from './straight.ts';

const pairs = 150;
/** Both sides run JavaScript that is compiled as it is used. */
const warmUpPairs = 100;
const idleTerminals = 10;
const mebibyte = 1024 * 1024;
const command = 'echo hi';

/** What a line typed into a terminal costs next to a command of its own, and what an idle terminal takes. */
export const sessions: Benchmark = {
  name: 'sessions',
  run: async (say) => {
    await using straight = await startStraight();
    const [target] = await straight.create(1);
    if (target === undefined) throw new Error('no sandbox');
    await straight.bind(target);
    const sandbox = new Sandbox(straight, target);
    return [await ofLine(sandbox, say), await ofIdleTerminal(sandbox, say)];
  },
};

/** Calls straight to its sandboxd: a gateway would add the same to both sides of a ratio. */
class Sandbox {
  readonly #straight: Straight;
  readonly #target: SandboxTarget;
  #calls = 0;

  constructor(straight: Straight, target: SandboxTarget) {
    this.#straight = straight;
    this.#target = target;
  }

  shell = (script: string) => this.#settled((id) => this.#straight.exec(this.#target, id, script));

  tool(tool: BuiltinAction['tool'], values: BuiltinAction['arguments']): Promise<string> {
    const action = { kind: 'builtin', tool, arguments: values } as const;
    return this.#settled((id) => this.#straight.run(this.#target, id, action));
  }

  async #settled(run: (id: string) => Promise<CallAnswer>): Promise<string> {
    const answer = await run(`call-${(this.#calls += 1)}`);
    this.#straight.settled(this.#target, answer);
    const { ending, stdout, stderr } = answer;
    if (ending.kind !== 'exited' || ending.exitCode !== 0)
      throw new Error(`a call ended with ${JSON.stringify(ending)}: ${stderr.head}`);
    return stdout.head;
  }
}

async function ofLine(sandbox: Sandbox, say: (line: string) => void): Promise<Figure> {
  await sandbox.tool('terminal_open', { command: 'exec sh', wait_for: '$', timeout_s: 60 });
  const typed = { terminal: 1, text: `${command}\n`, wait_for: 'hi\nhi', timeout_s: 60 };
  const measure = {
    value: () => timed(() => sandbox.tool('terminal_send', typed)),
    floor: () => timed(() => sandbox.shell(command)),
  };
  say(`${warmUpPairs + pairs} lines sent to a terminal, and commands, in turns`);
  const rounds: Round[] = [];
  for (let pair = 0; pair < warmUpPairs + pairs; pair += 1) rounds.push(await inTurns(measure, pair));
  const judged = rounds.slice(warmUpPairs);
  const value = median(judged.map((round) => round.value));
  const floor = median(judged.map((round) => round.floor));
  return atMost({ what: 'terminal_send with its screen, against exec', unit: 'ms', value, floor }, 1.3);
}

async function ofIdleTerminal(sandbox: Sandbox, say: (line: string) => void): Promise<Figure> {
  say(`opening ${idleTerminals} terminals and leaving them alone`);
  const before = await memoryBytes(sandbox);
  for (let opened = 0; opened < idleTerminals; opened += 1)
    await sandbox.tool('terminal_open', { command: 'echo ready; exec sleep 1000', wait_for: 'ready' });
  await sleep(1_000);
  const each = ((await memoryBytes(sandbox)) - before) / idleTerminals;
  const what = `private memory of an idle terminal without its program, mean of ${idleTerminals}`;
  return within({ what, unit: 'MiB', value: each / mebibyte, floor: 1 });
}

/** Of the server, and of what carries each terminal's streams. */
async function memoryBytes(sandbox: Sandbox): Promise<number> {
  const files = "pgrep 'corral-terminal|^pty$' | sed 's:.*:/proc/&/smaps_rollup:'";
  const kibibytes = await sandbox.shell(`cat $(${files}) | awk '/^Private/ { sum += $2 } END { print sum }'`);
  return Number(kibibytes) * 1024;
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}
