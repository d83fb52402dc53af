import type { CallId } from '#src/model/ids.ts';
import type { SandboxTarget } from '#src/ports/sandbox-link.ts';

/** Sandboxes of which something is still to be said. One that is forgotten asks when it needs to know. */
const mostSandboxes = 10_000;
/** In one request: headers of sandboxd may have 128 KiB, and an id has at most 256 characters, encoded three times as many. */
const mostAtOnce = 64;

/** Calls that are settled, until a request to their sandbox says so. */
export class SettledIds {
  readonly #waiting = new Map<string, CallId[]>();

  add(target: SandboxTarget, calls: readonly CallId[]): void {
    const name = nameOf(target);
    const known = this.#waiting.get(name) ?? [];
    this.#waiting.delete(name);
    this.#waiting.set(name, [...known, ...calls]);
    const [oldest] = this.#waiting.keys();
    if (this.#waiting.size > mostSandboxes && oldest !== undefined) this.#waiting.delete(oldest);
  }

  /** What the next request says; if that fails, it is to be added again. */
  take(target: SandboxTarget): readonly CallId[] {
    const name = nameOf(target);
    const [said, rest] = split(this.#waiting.get(name) ?? []);
    if (rest.length > 0) this.#waiting.set(name, rest);
    else this.#waiting.delete(name);
    return said;
  }
}

const split = (calls: CallId[]) => [calls.slice(0, mostAtOnce), calls.slice(mostAtOnce)] as const;

const nameOf = ({ sandbox, boot }: SandboxTarget): string => `${sandbox} ${boot}`;
