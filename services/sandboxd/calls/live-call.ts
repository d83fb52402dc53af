import type { Writable } from 'node:stream';
import type { CallRequest } from '#src/protocol/sandboxd/wire.ts';
import type { Capture } from '../command/capture.ts';
import type { LiveCommand } from '../command/run-command.ts';
import { OpenStdin } from './open-stdin.ts';
import type { StdinRoom } from './stdin-room.ts';

type Captures = readonly [stdout: Capture, stderr: Capture];

/**
 * A call that can be followed while it runs. It keeps nothing by itself: readers look into what is kept for its answer anyway, so
 * they cost no memory. A reader that is slower than the command misses bytes, and its stream says how many.
 */
export class LiveCall implements LiveCommand {
  /** Null if the command was given all of its stdin. */
  readonly stdin: OpenStdin | null;
  readers = 0;
  #captures: Captures | null = null;
  #isOver = false;
  #next: PromiseWithResolvers<void> | null = null;

  constructor(action: CallRequest['action'], room: StdinRoom) {
    this.stdin = action.kind === 'exec' && action.openStdin === true ? new OpenStdin(room) : null;
  }

  get keepsStdin(): boolean {
    return this.stdin !== null;
  }

  /** Null before the command runs, and after it. */
  get captures(): Captures | null {
    return this.#captures;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  follow(captures: Captures): void {
    this.#captures = captures;
  }

  writeTo(stdin: Writable): void {
    this.stdin?.writeTo(stdin);
  }

  /** Resolves at the next change. Ask for it before looking, so that none is missed. */
  next(): Promise<void> {
    return (this.#next ??= Promise.withResolvers()).promise;
  }

  changed(): void {
    this.#next?.resolve();
    this.#next = null;
  }

  /** What there is to read is in its answer from now on. */
  end(): void {
    this.#isOver = true;
    this.#captures = null;
    this.stdin?.close();
    this.changed();
  }
}
