import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { Type } from 'typebox';
import { maxWaitS } from '#src/protocol/native/parts.ts';
import { CallAnswer } from '#src/protocol/native/calls.ts';
import { CommandError } from '#cli/command-error.ts';
import { askNative, type HttpClient } from '#cli/gateway/http-client.ts';
import type { Task } from './read-task.ts';

/** A cold start with its pull. */
const startS = 300;
/** As large as an archive may be on its way into a sandbox. */
const mostArchiveBytes = 256 * 1024 * 1024;

const run = promisify(execFile);

export type Command = {
  readonly command: string;
  readonly timeoutS: number;
  readonly env?: Readonly<Record<string, string>>;
};

export type Ended = Pick<CallAnswer, 'exit_code' | 'timed_out' | 'stdout' | 'stderr'>;

/** One fresh sandbox for a task, and what Harbor does in it. Each method throws what the gateway refuses. */
export class TaskSandbox {
  readonly #client: HttpClient;
  readonly #task: Task;
  readonly #path: string;
  #calls = 0;

  private constructor(client: HttpClient, task: Task, rolloutId: string) {
    this.#client = client;
    this.#task = task;
    this.#path = `/v1/rollouts/${encodeURIComponent(rolloutId)}`;
  }

  static async open(
    client: HttpClient,
    environment: string,
    task: Task,
    rolloutId: string,
  ): Promise<TaskSandbox> {
    const body = {
      rollout_id: rolloutId,
      environment,
      item: { id: task.name, image: task.image },
      requires: task.requires,
    };
    await askNative(client, { method: 'POST', path: '/v1/rollouts', body }, Type.Object({})).catch(
      (error: unknown) => {
        throw inWordsOfTheTask(task, error);
      },
    );
    return new TaskSandbox(client, task, rolloutId);
  }

  /** Null: it ran out of time. */
  async run({ command, timeoutS, env = {} }: Command): Promise<CallAnswer | null> {
    this.#calls += 1;
    const { requires, env: own } = this.#task;
    const body = {
      call_id: `call-${this.#calls}`,
      command,
      env: { ...own, ...env },
      timeout_s: timeoutS,
      ...(requires.workdir !== undefined && { cwd: requires.workdir }),
    };
    const answer = await this.#untilAnswered(body, timeoutS);
    return answer.timed_out ? null : answer;
  }

  /** A request is held for {@link maxWaitS} at most; the same again attaches. */
  async #untilAnswered(body: { readonly call_id: string }, timeoutS: number): Promise<CallAnswer> {
    const request = {
      method: 'POST',
      path: `${this.#path}/exec?wait_s=${maxWaitS}`,
      deadlineMs: (maxWaitS + 60) * 1000,
      body,
    } as const;
    const lastMs = performance.now() + (timeoutS + startS) * 1000;
    for (;;) {
      const answer = await askNative(this.#client, request, Type.Union([CallAnswer, Running]));
      if ('outcome' in answer) return answer;
      if (performance.now() > lastMs) throw new Error('the command had no end in its time');
    }
  }

  /** The files below a folder of this machine, below one of the sandbox. */
  async upload(from: string, to: string): Promise<void> {
    const { stdout } = await run(
      'tar',
      ['--create', '--file=-', '--format=pax', `--directory=${from}`, '.'],
      {
        encoding: 'buffer',
        maxBuffer: mostArchiveBytes,
      },
    );
    const path = `${this.#path}/archive?path=${encodeURIComponent(to)}`;
    await askNative(
      this.#client,
      { method: 'PUT', path, body: stdout, deadlineMs: 600_000 },
      Type.Object({}),
    );
  }

  /** A text file; null: the sandbox refuses to read it. That it does not answer says nothing about the file, and throws. */
  async read(path: string): Promise<string | null> {
    const answer = await this.#client.send({
      method: 'GET',
      path: `${this.#path}/files/${encodeURIComponent(path)}`,
    });
    if (answer.status === 200) return answer.body;
    if (answer.status === 400) return null;
    throw new Error(
      `${path} was not read: the gateway answered ${answer.status}: ${answer.body.slice(0, 300)}`,
    );
  }

  async close(): Promise<void> {
    await this.#client.send({ method: 'DELETE', path: this.#path }).catch(() => undefined);
  }
}

/** The gateway knows a row with an image; the person at the terminal knows the task's file. */
function inWordsOfTheTask({ image }: Task, error: unknown): unknown {
  if (!(error instanceof CommandError) || !error.message.includes(`says ${JSON.stringify(image)}`))
    return error;
  const what = `image: the task names the image ${image} as docker_image, but the fleet does not accept it`;
  const fix = 'correct docker_image in [environment] of task.toml, or change the environment';
  return new CommandError(`${what}: ${error.message}; ${fix}`, error.fault, fix, error);
}

const Running = Type.Object({ state: Type.Literal('running') });
