import { callId } from '#src/model/ids.ts';
import type { BuiltinName, CallAnswer, CallRequest } from '#src/protocol/sandboxd/wire.ts';
import { aShellCall, type TestSandboxd } from '#test/support/sandboxd.ts';

type Values = Readonly<Record<string, string | number | boolean>>;

/** Calls of a sandbox's terminal tools, and of its shell, each under an id of its own. */
export class TerminalCalls {
  readonly #sandboxd: Pick<TestSandboxd, 'link' | 'target'>;
  #calls = 0;

  constructor(sandboxd: Pick<TestSandboxd, 'link' | 'target'>) {
    this.#sandboxd = sandboxd;
  }

  /** What the model reads. */
  async tool(tool: BuiltinName, values: Values = {}, env: Readonly<Record<string, string>> = {}) {
    return textOf(await this.answer({ kind: 'builtin', tool, arguments: values, env }));
  }

  open = (values: Values = {}) => this.tool('terminal_open', values);
  read = (terminal: number, values: Values = {}) => this.tool('terminal_read', { terminal, ...values });
  send = (terminal: number, values: Values) => this.tool('terminal_send', { terminal, ...values });
  close = (terminal: number) => this.tool('terminal_close', { terminal });

  async shell(script: string): Promise<string> {
    return textOf(await this.#call(aShellCall(script, { timeoutMs: 60_000 })));
  }

  answer(action: CallRequest['action'], timeoutMs = 120_000): Promise<CallAnswer> {
    return this.#call({ digest: 'd', action, timeoutMs, keepBytes: 262_144 });
  }

  async #call(request: CallRequest): Promise<CallAnswer> {
    const { link, target } = this.#sandboxd;
    const id = callId(`terminal-${(this.#calls += 1)}`);
    const answer = await link.call(target, id, request, 150_000, AbortSignal.timeout(160_000));
    if (answer === 'running') throw new Error('the call still runs');
    return answer;
  }
}

function textOf({ ending, stdout, stderr }: CallAnswer): string {
  if (ending.kind !== 'exited') throw new Error(`the call ended as ${JSON.stringify(ending)}`);
  return stdout.head + stderr.head;
}
