import { setTimeout as sleep } from 'node:timers/promises';

/** A page of a run asks so often. */
const everyMs = 2_000;

/** A page of a run that is open until it is stopped. */
export function watchRun(url: string, key: string, run: string): { stop(): Promise<void> } {
  const ends = new AbortController();
  const watching = watch(url, key, run, ends.signal);
  return {
    stop: async () => {
      ends.abort();
      await watching;
    },
  };
}

const headers = { 'x-corral-console': '1', 'content-type': 'application/json' };

async function watch(url: string, key: string, run: string, signal: AbortSignal): Promise<void> {
  const body = JSON.stringify({ key });
  const login = await fetch(`${url}/session`, { method: 'POST', headers, body });
  if (login.status !== 200) throw new Error(`the console let no one in: ${await login.text()}`);
  const cookie = login.headers.getSetCookie()[0]?.split(';', 1)[0] ?? '';
  let rollouts = 0;
  while (!signal.aborted) {
    const answer = await fetch(`${url}/api/runs/${run}`, { headers: { ...headers, cookie } });
    const text = await answer.text();
    if (answer.status !== 200) throw new Error(`${answer.status} ${text}`);
    rollouts = text.split('"kind"').length;
    await sleep(everyMs, undefined, { signal }).catch(() => undefined);
  }
  if (rollouts === 0) throw new Error('the console showed nothing');
}
