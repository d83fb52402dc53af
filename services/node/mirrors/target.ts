import { type MirrorPlan, originAt } from './plan.ts';

/** What a sandbox asks for: an address of a mirror. Null: nothing that was allowed. */
export function targetOf(plan: MirrorPlan, localAddress: string, asked: string): URL | null {
  const url = asked.startsWith('/') ? onServer(plan, localAddress, asked) : throughProxy(plan, asked);
  return url !== null && isAllowed(plan, url) ? url : null;
}

function onServer(plan: MirrorPlan, localAddress: string, path: string): URL | null {
  const origin = originAt(plan, localAddress)?.origin;
  // Two slashes at the beginning would name another server.
  return origin === undefined ? null : parse(`${origin}${path}`);
}

/** apt asks for whole addresses. */
function throughProxy({ standIns }: MirrorPlan, asked: string): URL | null {
  const url = parse(asked);
  if (url === null) return null;
  const found = standIns.find(({ from }) => url.href.startsWith(from));
  return found === undefined ? url : parse(found.to + url.href.slice(found.from.length));
}

function isAllowed({ origins }: MirrorPlan, { origin, pathname, username, password }: URL): boolean {
  if (username !== '' || password !== '' || hasHiddenDots(pathname)) return false;
  const known = origins.find((each) => each.origin === origin);
  return known?.prefixes.some((prefix) => `${pathname}/`.startsWith(prefix)) === true;
}

/** `..` was taken out; servers that read `%2f` as a slash must not find it again. npm's names have `%2f` in them. */
function hasHiddenDots(pathname: string): boolean {
  const parts = pathname.replaceAll(/%2f|%5c|\\/gi, '/').split('/');
  return parts.some((part) => part.replaceAll(/%2e/gi, '.') === '..');
}

const parse = (text: string): URL | null => (URL.canParse(text) ? new URL(text) : null);
