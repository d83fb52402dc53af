import { isDeepStrictEqual } from 'node:util';
import { createDoubts } from '#src/lifecycle/doubts.ts';
import { createLeaving } from '#src/lifecycle/leaving.ts';
import { createLosses } from '#src/lifecycle/losses.ts';
import type { SandboxId } from '#src/model/ids.ts';
import { createPresence } from '#src/pool/presence.ts';
import { SandboxAccount } from '#src/pool/sandbox-account.ts';
import type { ProviderEvent, SandboxProvider } from '#src/ports/sandbox-provider.ts';
import { createFakeClock } from '#test/fakes/clock.ts';
import { createFakeLifecycleStore } from '#test/fakes/lifecycle-store.ts';
import { createFakeLog } from '#test/fakes/log.ts';
import { createFakeMetrics } from '#test/fakes/metrics.ts';

/** What the account says otherwise than the memories that it is to replace; no world may have any. */
export const differences: string[] = [];

const compare = (what: string, old: unknown, now: unknown) => {
  if (isDeepStrictEqual(old, now)) return;
  differences.push(`${what}: ${JSON.stringify(old)} where the account has ${JSON.stringify(now)}`);
};

const say = (thrown: unknown) => String(thrown);

/** The four memories and the account, fed with the same events: after each they must have the same to say. */
export function createBeside() {
  const account = new SandboxAccount();
  const presence = createPresence();
  const lifecycle = createFakeLifecycleStore();
  const dialled: SandboxId[] = [];
  const withdrawn: (readonly [SandboxId, string])[] = [];
  const told = { lifecycle, metrics: createFakeMetrics(), log: createFakeLog() };
  const losses = createLosses(told);
  const answersAll = {
    identity: ({ sandbox }: { sandbox: SandboxId }) => {
      dialled.push(sandbox);
      return Promise.reject(new Error('nobody is there'));
    },
  };
  const doubts = createDoubts({ ...told, link: answersAll, clock: createFakeClock() });
  const leaving = createLeaving({
    withdraw: (sandbox, why) => {
      withdrawn.push([sandbox, why]);
      return Promise.resolve(true);
    },
  });
  const seen = new Set<SandboxId>();

  return async (event: ProviderEvent): Promise<void> => {
    for (const memory of [presence, losses, doubts, leaving, account]) memory.apply(event);
    for (const sandbox of event.kind === 'listed'
      ? event.sandboxes.map((one) => one.sandbox)
      : [event.sandbox])
      seen.add(sandbox);
    const ends = [...account.untold];
    account.untold.clear();
    const away = [...account.leaving];
    account.leaving.clear();
    const doubted = [...account.doubts.keys()];
    await losses.tell();
    compare(
      `ends after ${event.kind}`,
      lifecycle.losses.splice(0).map(({ sandbox, cause, evidence }) => [sandbox, cause, evidence]),
      ends.map(([sandbox, { cause, evidence }]) => [sandbox, cause, evidence]),
    );
    await leaving.withdraw();
    const isThere = ([sandbox]: readonly [SandboxId, string]) => !account.isGone(sandbox);
    compare(`leaving after ${event.kind}`, withdrawn.splice(0).filter(isThere), away.filter(isThere));
    await doubts.check(AbortSignal.abort()).catch(() => undefined);
    // The old ones go on to ask a sandbox whose end only a list has shown.
    const stillThere = (sandbox: SandboxId) => !account.isGone(sandbox);
    compare(`doubts after ${event.kind}`, dialled.splice(0).filter(stillThere), doubted.filter(stillThere));
    for (const sandbox of seen) {
      compare(`${sandbox} is gone`, presence.isGone(sandbox), account.isGone(sandbox));
      const stopped = AbortSignal.abort('waits');
      compare(
        `${sandbox} runs`,
        await presence.running(sandbox, stopped).catch(say),
        await account.running(sandbox, stopped).catch(say),
      );
    }
  };
}

/** The provider, whose every event is compared, too. */
export function comparing(provider: SandboxProvider): SandboxProvider {
  const beside = createBeside();
  let last: Promise<void> = Promise.resolve();
  return {
    ...provider,
    watch: (onEvent, signal) =>
      provider.watch((event) => {
        last = last.then(() => beside(event));
        onEvent(event);
      }, signal),
  };
}
