import { sandboxId, templateDigest } from '#src/model/ids.ts';
import { anyPlace, type Template } from '#src/model/environment.ts';
import type { ProviderEvent } from '#src/ports/sandbox-provider.ts';
import { createFeed } from './feed.ts';
import { createSandboxes, type SandboxesOptions } from './sandboxes.ts';

const mebibyte = 1024 * 1024;

/** The plainest sandbox there is: what cannot start this cannot start any. */
const plainest: Template = {
  digest: templateDigest('trial'),
  image: { kind: 'host' },
  cpu: { requestMilli: 100, limitMilli: 1_000 },
  memory: { requestBytes: 64 * mebibyte, limitBytes: 256 * mebibyte },
  diskBytes: 16 * mebibyte,
  processes: 16,
  network: 'none',
  runAs: 'user',
  uid: 'separate',
  placement: anyPlace,
  env: {},
  data: [],
  prepare: [],
  startTimeoutMs: 30_000,
};

/** What is tried is whether this host can make a sandbox at all, not whether it has memory for one just now. */
const roomForOne = { percent: 100, read: () => ({ totalBytes: Infinity, availableBytes: Infinity }) };

/** No token opens it. */
const noToken = '0'.repeat(64);

export type Trial = (tools: Omit<SandboxesOptions, 'feed'>) => Promise<void>;

/**
 * Makes one sandbox and removes it again, so that a host that can make none says so before anybody waits for one.
 * Rejects with the words of whoever refused, and what to do.
 */
export const tryOneSandbox: Trial = async (tools) => {
  const trial = sandboxId(`trial-${tools.clock.nowMs()}`);
  // A feed of its own: nobody who watches this node is told of it.
  const feed = createFeed();
  const sandboxes = createSandboxes({ ...tools, feed, memoryRoom: roomForOne });
  const ran = Promise.withResolvers<void>();
  const gone = Promise.withResolvers<Gone>();
  const stopListening = feed.listen((event) => {
    if (event.kind === 'running' && event.sandbox === trial) ran.resolve();
    if (event.kind === 'gone' && event.sandbox === trial) gone.resolve(event);
  });
  try {
    sandboxes.create({ sandbox: trial, template: plainest, tokenSha256: noToken });
    const first = await Promise.race([ran.promise, gone.promise]);
    if (first !== undefined) throw cannotMakeSandboxes(first.evidence['lastWords']);
    sandboxes.destroy(trial);
    await gone.promise;
  } finally {
    stopListening();
  }
};

type Gone = Extract<ProviderEvent, { kind: 'gone' }>;

function cannotMakeSandboxes(lastWords: unknown): Error {
  const said = typeof lastWords === 'string' && lastWords !== '' ? lastWords : 'nothing';
  return new Error(
    `this host cannot make sandboxes. bubblewrap said: ${said}. ` +
      'The host must allow mount and pid namespaces, and its root folder must be a mount point ' +
      '(in a container: give it the capability SYS_ADMIN and no seccomp profile that forbids mount)',
  );
}
