import { describeSandboxProvider } from '../../contract/sandbox-provider.ts';
import { clusterOfTest } from '../../support/cluster.ts';
import { killSandboxd, openClusterProvider } from '../../support/cluster-provider.ts';

describeSandboxProvider('pods of a real cluster', async () => {
  const opened = await openClusterProvider(await clusterOfTest(), 'contract');
  return { ...opened, killFromOutside: killSandboxd };
});
