import type { Purpose } from './failures.ts';

/** The addresses of the native face that the client uses; a test compares them with `/openapi.json`. */
export type Route = {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly path: string;
  readonly purpose: Purpose;
  /** Whether the gateway holds the request while it waits or works, for as long as `wait_s` says. */
  readonly isHeld: boolean;
  /** Whether a gateway of the previous release does not have it. */
  readonly isNew?: boolean;
};

const route = (method: Route['method'], path: string, purpose: Purpose = 'other', isHeld = false): Route => ({
  method,
  path: `/v1/${path}`,
  purpose,
  isHeld,
});

export const routes = {
  open: route('POST', 'rollouts', 'open'),
  verdict: route('GET', 'rollouts/{id}/verdict'),
  call: route('POST', 'rollouts/{id}/calls', 'act', true),
  exec: route('POST', 'rollouts/{id}/exec', 'act', true),
  attach: route('GET', 'rollouts/{id}/calls/{call_id}', 'attach', true),
  stream: { ...route('GET', 'rollouts/{id}/calls/{call_id}/stream', 'attach', true), isNew: true },
  stdin: { ...route('POST', 'rollouts/{id}/calls/{call_id}/stdin', 'act', true), isNew: true },
  terminal: { ...route('POST', 'rollouts/{id}/terminals/{terminal}/follow', 'act', true), isNew: true },
  cancel: route('POST', 'rollouts/{id}/calls/{call_id}/cancel'),
  write: route('PUT', 'rollouts/{id}/files/{path}', 'file'),
  read: route('GET', 'rollouts/{id}/files/{path}', 'file'),
  grade: route('POST', 'rollouts/{id}/grade', 'grade', true),
  heartbeat: route('POST', 'rollouts/{id}/heartbeat'),
  finish: route('POST', 'rollouts/{id}/finish', 'other', true),
  delete: route('DELETE', 'rollouts/{id}'),
  refuse: route('POST', 'rollouts/{id}/refuse'),
  prewarm: route('POST', 'prewarm'),
  tools: route('GET', 'environments/{name}/tools'),
} as const;

/** The address with these values in it. An id's slashes are escaped; a file's path keeps its own. */
export function addressOf({ path }: Route, values: Readonly<Record<string, string>> = {}): string {
  return path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const value = values[name] ?? '';
    return name === 'path' ? escapePath(value) : encodeURIComponent(value);
  });
}

function escapePath(path: string): string {
  return path.split('/').map(encodeURIComponent).join('/');
}
