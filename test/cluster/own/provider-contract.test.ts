import { describeSandboxProvider } from '#test/contract/sandbox-provider.ts';
import { clusterOfTest } from '#test/support/cluster.ts';
import { killSandboxd, openClusterProvider } from '#test/support/cluster-provider.ts';

describeSandboxProvider('pods of a real cluster', async () => {
  const opened = await openClusterProvider(await clusterOfTest(), 'contract');
  return { ...opened, killFromOutside: killSandboxd };
});
