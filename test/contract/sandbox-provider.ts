import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { rolloutId, runId, sandboxId, type SandboxId, tenantId } from '#src/model/ids.ts';
import type { Template } from '#src/model/environment.ts';
import type { Owner } from '#src/model/rollout.ts';
import type { ProviderEvent, SandboxProvider } from '#src/ports/sandbox-provider.ts';
import { type RecordedEvents, recordEvents } from '../support/provider-events.ts';

export type ProviderUnderTest = {
  readonly provider: SandboxProvider;
  /** A template that starts here. */
  readonly template: Template;
  /** Ends the sandbox's first process from outside, as an operator with SIGKILL would; events follow by themselves. */
  killFromOutside(sandbox: SandboxId): Promise<void>;
  close(): Promise<void>;
};

const owner: Owner = {
  tenant: tenantId('tenant'),
  run: runId('run'),
  rollout: rolloutId('rollout'),
  attempt: 1,
  role: 'policy',
};

const tokenSha256 = 'a'.repeat(64);

/** The rules of the port, the same for every provider. */
export function describeSandboxProvider(name: string, open: () => Promise<ProviderUnderTest>): void {
  describe(`sandbox provider contract: ${name}`, () => {
    let under: ProviderUnderTest;
    let events: RecordedEvents;
    let provider: SandboxProvider;
    let created = 0;

    beforeAll(async () => {
      under = await open();
      provider = under.provider;
      events = recordEvents(provider);
      await events.next('listed');
    });
    afterAll(async () => {
      await events.stop();
      await under.close();
    });

    const create = async (): Promise<SandboxId> => {
      created += 1;
      const sandbox = sandboxId(`contract-${created}`);
      await provider.create({ sandbox, template: under.template, tokenSha256 });
      return sandbox;
    };
    const running = async (): Promise<SandboxId> => {
      const sandbox = await create();
      await events.of(sandbox, 'running');
      return sandbox;
    };
    const find = async (sandbox: SandboxId) =>
      (await provider.list()).find((each) => each.sandbox === sandbox);

    it('a created sandbox is listed at once, with its template and without an owner', async () => {
      const sandbox = await create();
      expect(await find(sandbox)).toMatchObject({
        template: under.template.digest,
        owner: null,
        expiresAtMs: null,
      });
      await provider.destroy(sandbox);
    });

    it('a sandbox that runs is told with the address under which it is listed', async () => {
      const sandbox = await create();
      const { address } = await events.of(sandbox, 'running');
      expect(await find(sandbox)).toMatchObject({ phase: 'running', address });
      await provider.destroy(sandbox);
    });

    it('creating the same sandbox again makes no second one', async () => {
      const sandbox = await running();
      await provider.create({ sandbox, template: under.template, tokenSha256 });
      const same = (await provider.list()).filter((each) => each.sandbox === sandbox);
      expect(same).toHaveLength(1);
      await provider.destroy(sandbox);
    });

    it('a label is found in the list without our memory', async () => {
      const sandbox = await running();
      await provider.label(sandbox, owner, 4_000_000_000_000);
      await expect.poll(() => find(sandbox)).toMatchObject({ owner, expiresAtMs: 4_000_000_000_000 });
      await provider.destroy(sandbox);
    });

    it('a destroyed sandbox ends as deleted and is no longer listed', async () => {
      const sandbox = await running();
      await provider.destroy(sandbox);
      expect((await events.of(sandbox, 'gone')).cause).toBe('deleted');
      expect(await find(sandbox)).toBeUndefined();
    });

    it('destroying twice, or what never was, is no error', async () => {
      const sandbox = await running();
      await provider.destroy(sandbox);
      await provider.destroy(sandbox);
      await events.of(sandbox, 'gone');
      await provider.destroy(sandbox);
      await provider.destroy(sandboxId('never-was'));
    });

    it('a sandbox that is destroyed before it runs goes too', async () => {
      const sandbox = await create();
      await provider.destroy(sandbox);
      expect((await events.of(sandbox, 'gone')).cause).toBe('deleted');
    });

    it('labelling a sandbox that is gone changes nothing', async () => {
      const sandbox = await running();
      await provider.destroy(sandbox);
      await events.of(sandbox, 'gone');
      await provider.label(sandbox, owner, 1);
      expect(await find(sandbox)).toBeUndefined();
    });

    it('a sandbox that is killed from outside is told with its cause and evidence', async () => {
      const sandbox = await running();
      await under.killFromOutside(sandbox);
      const gone = await events.of(sandbox, 'gone');
      expect(gone.cause).toBe('sandboxd_killed');
      expect(gone.evidence).toMatchObject({ signal: 'SIGKILL' });
    });

    it('a watcher that comes late is first told everything that exists', async () => {
      const sandbox = await running();
      const late = recordEvents(provider);
      const listed = await late.next('listed');
      expect(listed.sandboxes.map((each) => each.sandbox)).toContain(sandbox);
      expect(kindsBeforeListed(late.all())).not.toContain('running');
      await late.stop();
      await provider.destroy(sandbox);
    });

    it('a watch ends when its signal aborts', async () => {
      const watcher = recordEvents(provider);
      await watcher.next('listed');
      await watcher.stop();
      const before = watcher.all().length;
      await provider.destroy(await running());
      expect(watcher.all()).toHaveLength(before);
    });

    it('a template that can never start here is refused when it is created, or told before it times out', async () => {
      const image = { kind: 'image', reference: 'registry.invalid/never:1' } as const;
      const sandbox = sandboxId('contract-refused');
      const created = provider.create({ sandbox, template: { ...under.template, image }, tokenSha256 });
      const refusal = await created.then(
        () => events.of(sandbox, 'cannot_start'),
        (thrown: unknown) => thrown,
      );
      expect(refusal).toMatchObject({
        code: expect.stringMatching(/^(start_failed|image_unavailable)$/) as string,
        message: expect.any(String) as string,
      });
      await provider.destroy(sandbox);
      await expect.poll(() => find(sandbox)).toBeUndefined();
    });
  });
}

const kindsBeforeListed = (events: readonly ProviderEvent[]) =>
  events
    .slice(
      0,
      events.findIndex(({ kind }) => kind === 'listed'),
    )
    .map(({ kind }) => kind);
