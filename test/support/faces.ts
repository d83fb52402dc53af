import { expect } from 'vitest';
import type { Blame, FailureCode } from '#src/failure/codes.ts';

export type Answer = {
  readonly status: number;
  /** Parsed where it is JSON, else the text. */
  readonly body: unknown;
  readonly retryAfter: string | null;
};

export type RftCall = {
  readonly trace: string;
  readonly call: string;
  readonly command?: string;
  /** Default: `{ command }`. */
  readonly arguments?: unknown;
  readonly tool?: string;
  readonly environment?: string;
  /** Null: without one. */
  readonly item?: Readonly<Record<string, unknown>> | null;
};

export type RftGrade = {
  readonly trace: string;
  readonly sample?: Readonly<Record<string, unknown>>;
  readonly environment?: string;
  readonly item?: Readonly<Record<string, unknown>>;
};

type Headers = Readonly<Record<string, string>>;

/** What a trainer says to a fleet on either face, with the status and body it got. Nothing is tried again. */
export type Faces = {
  readonly rft: {
    call(call: RftCall, headers?: Headers): Promise<Answer>;
    grade(grade: RftGrade, headers?: Headers): Promise<Answer>;
  };
  readonly native: {
    get(path: string, headers?: Headers): Promise<Answer>;
    post(path: string, body: unknown, headers?: Headers): Promise<Answer>;
    delete(path: string): Promise<Answer>;
    /** Opens a rollout; in the usual environment unless another is named. */
    open(rollout: string, environment?: string, item?: unknown): Promise<Answer>;
    /** A call of the tool `shell`. */
    shell(rollout: string, call: string, command: string): Promise<Answer>;
  };
  /** A POST of these very bytes. */
  raw(path: string, body: string | Buffer<ArrayBuffer>, headers?: Headers): Promise<Answer>;
};

/** What a test leaves out. */
export type FaceDefaults = { readonly environment?: string; readonly headers?: Headers };

export function facesOf(url: string, key: string, defaults: FaceDefaults = {}): Faces {
  const usual = defaults.environment ?? 'shell';
  const sendTo = (
    method: string,
    path: string,
    body: string | Buffer<ArrayBuffer> | null,
    headers: Headers = {},
  ) =>
    send(`${url}${path}`, {
      method,
      body,
      headers: {
        authorization: `Bearer ${key}`,
        'content-type': 'application/json',
        // A connection that a killed gateway left half open must not be used again.
        connection: 'close',
        ...defaults.headers,
        ...headers,
      },
    });
  const post = (path: string, body: unknown, headers?: Headers) =>
    sendTo('POST', path, JSON.stringify(body), headers);
  return {
    raw: (path, body, headers) => sendTo('POST', path, body, headers),
    rft: {
      call: (call, headers) =>
        post(`/rft/${call.environment ?? usual}/tools/${call.tool ?? 'shell'}`, toolCall(call), headers),
      grade: (grade, headers) => post(`/rft/${grade.environment ?? usual}/grade`, gradeCall(grade), headers),
    },
    native: {
      get: (path, headers) => sendTo('GET', path, null, headers),
      post,
      delete: (path) => sendTo('DELETE', path, null, {}),
      open: (rollout, environment = usual, item = defaultItem) =>
        post('/v1/rollouts', { rollout_id: rollout, environment, item }),
      shell: (rollout, call, command) =>
        post(`/v1/rollouts/${rollout}/calls`, { call_id: call, name: 'shell', arguments: { command } }),
    },
  };
}

const defaultItem = { id: 'task-1', answer: '42' };

const toolCall = ({ trace, call, tool = 'shell', item = defaultItem, ...rest }: RftCall) => ({
  type: 'function_call',
  id: `fc_${call}`,
  call_id: call,
  name: tool,
  arguments: rest.arguments ?? JSON.stringify({ command: rest.command }),
  ...(item === null ? {} : { item }),
  trace_id: trace,
});

const gradeCall = ({ trace, sample = { output_text: '42' }, item = defaultItem }: RftGrade) => ({
  sample,
  item,
  trace_id: trace,
});

async function send(url: string, init: RequestInit): Promise<Answer> {
  const response = await fetch(url, init);
  const text = await response.text();
  return { status: response.status, body: parsed(text), retryAfter: response.headers.get('retry-after') };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

export type ExpectedFailure = {
  readonly status: number;
  readonly code: FailureCode;
  readonly blame: Blame;
  readonly admitted: 'yes' | 'no' | 'unknown';
  readonly retryable: boolean;
  readonly tainted: boolean;
  readonly rollout_id?: string | null;
  readonly call_id?: string;
  readonly message?: unknown;
  readonly evidence?: unknown;
};

/** A rollout whose state is lost: nothing sent again will fix it. */
export const toldLost = {
  status: 503,
  code: 'sandbox_lost',
  blame: 'infrastructure',
  retryable: false,
  tainted: true,
} as const;

/** Ours, and nothing ran: the same may be sent again. */
export const toldNothingRan = {
  status: 503,
  blame: 'infrastructure',
  admitted: 'no',
  retryable: true,
  tainted: false,
} as const;

/** The error body, whole: its status, its fields, and nothing in it that a platform could take for an answer. */
export function expectFailure(answer: Answer, { status, ...error }: ExpectedFailure): void {
  expect(answer).toMatchObject({ status, body: { error } });
  expect(Object.keys(answer.body as object)).toEqual(['error']);
  expect(JSON.stringify(answer.body)).not.toMatch(/"(output|score)":/);
  expect(answer.retryAfter !== null).toBe(status === 503 && error.retryable);
}
