import { type MirrorPlan, originAt } from '../plan.ts';

/** What a sandbox asks for. `mirror`: the address of the mirror that has it. */
export type Target = { readonly url: URL; readonly mirror: string };

/** Null: nothing that was allowed. */
export function targetOf(plan: MirrorPlan, localAddress: string, asked: string): Target | null {
  const url = asked.startsWith('/') ? onServer(plan, localAddress, asked) : throughProxy(plan, asked);
  if (url === null || url.username !== '' || url.password !== '' || isSuspicious(asked)) return null;
  const mirror = mirrorWith(plan, url);
  return mirror === null ? null : { url, mirror };
}

function onServer(plan: MirrorPlan, localAddress: string, path: string): URL | null {
  const origin = originAt(plan, localAddress)?.origin;
  // Two slashes at the beginning would name another server.
  return origin === undefined ? null : parse(`${origin}${path}`);
}

/** apt asks for whole addresses: those of a mirror, or those in the image's sources. */
function throughProxy(plan: MirrorPlan, asked: string): URL | null {
  const url = parse(asked);
  if (url === null || mirrorWith(plan, url) !== null) return url;
  const isUsual = url.protocol === 'http:' && url.port === '' && url.username === '' && url.password === '';
  const standIn = plan.standIns.find(({ below }) => isUsual && url.pathname.startsWith(below));
  return standIn === undefined
    ? null
    : parse(standIn.to + url.pathname.slice(standIn.below.length) + url.search);
}

function mirrorWith({ origins }: MirrorPlan, { origin, pathname }: URL): string | null {
  const known = origins.find((each) => each.origin === origin);
  const prefix = known?.prefixes.find((each) => `${pathname}/`.startsWith(each));
  return prefix === undefined ? null : `${origin}${prefix}`;
}

/**
 * Servers read paths in their own ways: `%2f` as a slash (npm's names have it), `..;` as `..`, `%252e` as `%2e`, and letters that look like
 * dots as dots. Nothing that some server could read as a way up is passed on.
 */
function isSuspicious(asked: string): boolean {
  const [path = ''] = asked.split('?');
  if (path.includes('%25')) return true;
  const decoded = decodedOnce(path);
  if (decoded === null || hasControls.test(decoded)) return true;
  const parts = decoded.normalize('NFKC').split(/[/\\]/);
  return parts.some((part) => /^\.\.+$/.test((part.split(';')[0] ?? '').trim()));
}

// eslint-disable-next-line no-control-regex -- they are what it looks for
const hasControls = /[\u0000-\u001f\u007f-\u009f]/;

function decodedOnce(path: string): string | null {
  try {
    return decodeURIComponent(path);
  } catch {
    return null;
  }
}

const parse = (text: string): URL | null => (URL.canParse(text) ? new URL(text) : null);
