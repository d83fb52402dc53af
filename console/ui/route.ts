import { useEffect, useState } from 'preact/hooks';

const listeners = new Set<() => void>();
const tellAll = (): void => listeners.forEach((listener) => listener());
addEventListener('popstate', tellAll);

/** Shows another address; `replace`: without a step back to this one. */
export function go(address: string, replace = false): void {
  history[replace ? 'replaceState' : 'pushState'](null, '', address);
  if (!replace) scrollTo(0, 0);
  tellAll();
}

export type Route = { readonly path: readonly string[]; readonly query: URLSearchParams };

export function useRoute(): Route {
  const [, change] = useState(0);
  useEffect(() => {
    const listener = () => change((times) => times + 1);
    listeners.add(listener);
    return () => void listeners.delete(listener);
  }, []);
  const path = location.pathname.split('/').filter((part) => part !== '');
  return { path: path.map(decodeURIComponent), query: new URLSearchParams(location.search) };
}

/** Of a link inside the console. Its parts are escaped one by one, so that no id becomes another address. */
export function addressOf(parts: readonly string[], query: Readonly<Record<string, string>> = {}): string {
  const text = new URLSearchParams(query).toString();
  return `/${parts.map(encodeURIComponent).join('/')}${text === '' ? '' : `?${text}`}`;
}

export const linkTo = (address: string) => ({
  href: address,
  onClick: (event: MouseEvent) => {
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.button !== 0) return;
    event.preventDefault();
    go(address);
  },
});
