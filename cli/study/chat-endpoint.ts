import { type Static, Type } from 'typebox';
import { Value } from 'typebox/value';
import { Agent, request } from 'undici';
import type { Clock } from '#src/ports/clock.ts';
import { CommandError } from '../command-error.ts';
import type { TrainingJob } from '../proving/training-job.ts';

/** A model behind the wire that many servers speak: `POST {url}/chat/completions`. */
export type EndpointSettings = {
  readonly url: string;
  readonly model: string;
  /** Null: the endpoint asks for none. */
  readonly key: string | null;
  /** Of one reply. */
  readonly maxTokens: number;
  /** Null: the endpoint's own. */
  readonly temperature: number | null;
  /** Of one try. */
  readonly timeoutMs: number;
};

export type AskedCall = { readonly id: string; readonly name: string; readonly arguments: string };

export type Message =
  | { readonly role: 'system' | 'user'; readonly content: string }
  | {
      readonly role: 'assistant';
      readonly content: string | null;
      readonly tool_calls?: readonly WiredCall[];
    }
  | { readonly role: 'tool'; readonly tool_call_id: string; readonly content: string };
type WiredCall = {
  readonly id: string;
  readonly type: 'function';
  readonly function: Omit<AskedCall, 'id'>;
};

export type Reply = {
  readonly text: string;
  readonly calls: readonly AskedCall[];
  /** Thinking included; null where the endpoint does not count. */
  readonly written: number | null;
  /** With what it had to read; null likewise. */
  readonly total: number | null;
  /** It ended at the most tokens, not by itself. */
  readonly cut: boolean;
};

export type Endpoint = {
  reply(messages: readonly Message[], tools: TrainingJob['functions']): Promise<Reply>;
  close(): Promise<void>;
};

/** What the endpoint failed at: the model has then said nothing, right or wrong. */
export class EndpointFailed extends Error {
  readonly code: string;

  constructor(code: string, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'EndpointFailed';
    this.code = code;
  }
}

const Nullish = <Schema extends Parameters<typeof Type.Optional>[0]>(schema: Schema) =>
  Type.Optional(Type.Union([schema, Type.Null()]));

const Completion = Type.Object({
  choices: Type.Array(
    Type.Object({
      finish_reason: Nullish(Type.String()),
      message: Type.Object({
        content: Nullish(Type.String()),
        tool_calls: Nullish(
          Type.Array(
            Type.Object({
              id: Nullish(Type.String()),
              function: Type.Object({ name: Type.String(), arguments: Type.String() }),
            }),
          ),
        ),
      }),
    }),
    { minItems: 1 },
  ),
  usage: Nullish(Type.Object({ prompt_tokens: Type.Number(), completion_tokens: Type.Number() })),
});

/** With what comes before each: 1, 2 and 4 s, or what the endpoint asks for, a minute at most. */
const mostTries = 4;
const firstPauseMs = 1_000;
const longestPauseMs = 60_000;
/** Some hundred times the longest reply; beyond it, what answers is no model. */
const mostBytes = 16 * 1024 * 1024;

export function chatEndpoint(settings: EndpointSettings, clock: Pick<Clock, 'sleep'>): Endpoint {
  const dispatcher = new Agent({ headersTimeout: 0, bodyTimeout: 0 });
  const url = `${settings.url.endsWith('/') ? settings.url.slice(0, -1) : settings.url}/chat/completions`;
  return {
    close: () => dispatcher.destroy(),
    reply: async (messages, tools) => {
      const body = JSON.stringify(requestOf(settings, messages, tools));
      for (let tries = 1; ; tries += 1) {
        const answer = await ask(url, body, settings, dispatcher);
        if (!('again' in answer)) return answer;
        if (tries === mostTries) throw answer.again;
        await clock.sleep(Math.min(longestPauseMs, answer.afterMs ?? firstPauseMs * 2 ** (tries - 1)));
      }
    },
  };
}

const requestOf = (
  { model, maxTokens, temperature }: EndpointSettings,
  messages: readonly Message[],
  tools: TrainingJob['functions'],
) => ({
  model,
  messages,
  ...(tools.length === 0 ? {} : { tools }),
  max_tokens: maxTokens,
  ...(temperature === null ? {} : { temperature }),
});

type Again = { readonly again: EndpointFailed; readonly afterMs: number | null };

async function ask(
  url: string,
  body: string,
  { key, timeoutMs, model }: EndpointSettings,
  dispatcher: Agent,
): Promise<Reply | Again> {
  const signal = AbortSignal.timeout(timeoutMs);
  const headers = {
    'content-type': 'application/json',
    ...(key === null ? {} : { authorization: `Bearer ${key}` }),
  };
  let status: number;
  let text: string;
  let afterMs: number | null;
  try {
    const answer = await request(url, { method: 'POST', headers, body, dispatcher, signal });
    status = answer.statusCode;
    afterMs = pauseOf(answer.headers['retry-after']);
    text = await boundedText(answer.body);
  } catch (cause) {
    if (cause instanceof EndpointFailed) throw cause;
    const said = signal.aborted ? `no reply within ${timeoutMs / 1000} s` : String(cause);
    return { again: new EndpointFailed('endpoint_unreachable', said, cause), afterMs: null };
  }
  if (status === 200) return replyOf(text);
  const said = `answered ${status}: ${text.slice(0, 200)}`;
  // Every rollout would be told the same: nothing is played for that.
  if (status === 401 || status === 403 || status === 404) {
    const next = 'check --endpoint and --model, and the key in the variable that --key-variable names';
    throw new CommandError(`the endpoint of ${model} ${said}`, 'yours', next);
  }
  if (status === 429 || status >= 500) return { again: new EndpointFailed('endpoint_failed', said), afterMs };
  throw new EndpointFailed('endpoint_refused', said);
}

function pauseOf(header: string | string[] | undefined): number | null {
  const seconds = Number(header);
  return header === undefined || !Number.isFinite(seconds) ? null : Math.max(0, seconds * 1000);
}

async function boundedText(body: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    if (size > mostBytes)
      throw new EndpointFailed('endpoint_failed', `its reply has more than ${mostBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function replyOf(text: string): Reply {
  const completion = parsed(text);
  const choice = completion?.choices[0];
  if (completion === null || choice === undefined)
    throw new EndpointFailed('endpoint_failed', `its reply is no chat completion: ${text.slice(0, 200)}`);
  const { finish_reason: finish, message } = choice;
  if (finish === 'content_filter')
    throw new EndpointFailed('content_filter', 'the endpoint held the reply back (content_filter)');
  const { usage } = completion;
  return {
    text: message.content ?? '',
    calls: (message.tool_calls ?? []).map(({ id, function: { name, arguments: given } }, index) => ({
      id: id ?? `unnamed_${index + 1}`,
      name,
      arguments: given,
    })),
    written: usage?.completion_tokens ?? null,
    total: usage ? usage.prompt_tokens + usage.completion_tokens : null,
    cut: finish === 'length',
  };
}

function parsed(text: string): Static<typeof Completion> | null {
  try {
    const value: unknown = JSON.parse(text);
    return Value.Check(Completion, value) ? value : null;
  } catch {
    return null;
  }
}
