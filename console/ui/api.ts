import { useEffect, useState } from 'preact/hooks';
import { readJson } from './door.ts';

/** The server refused, or did not answer: `status` 0. */
export class ApiError extends Error {
  readonly status: number;

  constructor(message: string, status: number) {
    super(message);
    this.status = status;
  }
}

type Asked = { readonly method?: string; readonly body?: unknown };

/** Null: nothing is new. The server checks its answers by the same schemas that the types here are of. */
export async function ask<Answer>(
  path: string,
  { method = 'GET', body }: Asked = {},
): Promise<Answer | null> {
  const answer = await fetch(path, {
    method,
    headers: body === undefined ? {} : { 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  }).catch(() => {
    throw new ApiError('The console’s server does not answer.', 0);
  });
  if (answer.status === 204) return null;
  const value = readJson(await answer.text());
  if (answer.ok) return value as Answer;
  throw new ApiError(messageIn(value), answer.status);
}

function messageIn(value: unknown): string {
  if (typeof value !== 'object' || value === null || !('error' in value)) return 'The server failed.';
  const { error } = value;
  const isTold = typeof error === 'object' && error !== null && 'message' in error;
  return isTold ? String(error.message) : 'The server failed.';
}

export type Live<Answer> = { readonly answer: Answer | null; readonly error: ApiError | null };

const longestPauseMs = 30_000;

/**
 * An answer that is asked for again while the page is looked at. After an error the last answer stays, and pauses grow. `next`: the
 * address to ask when there is an answer already.
 */
export function useLive<Answer>(
  path: string,
  everyMs: number,
  next: (answer: Answer) => string = () => path,
): Live<Answer> {
  const [live, setLive] = useState<Live<Answer> & { readonly path: string }>({ ...nothing, path });
  useEffect(() => {
    let last: Answer | null = null;
    let timer = 0;
    let failures = 0;
    let isOver = false;
    const again = (afterMs: number) => void (timer = window.setTimeout(() => void turn(), afterMs));
    const turn = async (): Promise<void> => {
      if (document.hidden) return again(everyMs);
      try {
        const answer = await ask<Answer>(last === null ? path : next(last));
        failures = 0;
        if (isOver) return;
        if (answer !== null) setLive({ answer: (last = answer), error: null, path });
        if (answer === null) setLive((now) => (now.error === null ? now : { ...now, error: null }));
      } catch (thrown) {
        failures += 1;
        const error = thrown instanceof ApiError ? thrown : new ApiError(String(thrown), 0);
        if (!isOver) setLive({ answer: last, error, path });
      }
      if (!isOver) again(failures === 0 ? everyMs : Math.min(longestPauseMs, everyMs * 2 ** failures));
    };
    void turn();
    return () => {
      isOver = true;
      clearTimeout(timer);
    };
  }, [path, everyMs]);
  return live.path === path ? live : nothing;
}

const nothing = { answer: null, error: null };
