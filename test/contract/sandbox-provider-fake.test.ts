import { FakeSandboxProvider } from '../fakes/sandbox-provider.ts';
import { testTemplate } from '../support/sandboxes.ts';
import { describeSandboxProvider } from './sandbox-provider.ts';

describeSandboxProvider('the fake of tests', async () => {
  const provider = new FakeSandboxProvider();
  return {
    provider,
    template: testTemplate(),
    killFromOutside: async (sandbox) => provider.end(sandbox, 'sandboxd_killed', { signal: 'SIGKILL' }),
    close: async () => undefined,
  };
});
