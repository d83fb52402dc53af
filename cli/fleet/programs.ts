import type { Built } from '#infra/payload/publish-once.ts';

/** What a fleet on this machine runs. */
export type Programs = {
  /** Makes the folder that is mounted into sandboxes, or finds it below `targetDir`. */
  buildPayload(targetDir: string): Promise<Built>;
  /** The folder with the services, each bundled: `NAME.mjs`. */
  servicesDir(): Promise<string>;
  /** The folder with environments to try, for a fleet that is given none; null: the working directory has them. */
  readonly examples: string | null;
};

/** Built from this checkout. A release has `shipped-programs.ts` in place of this file. The bundler is loaded only if it is needed. */
export const programs: Programs = {
  buildPayload: async (targetDir) => (await import('#infra/payload/payload.ts')).buildPayload(targetDir),
  servicesDir: async () => {
    const { bundleServices } = await import('#infra/services/bundle-services.ts');
    return (await bundleServices()).dir;
  },
  examples: null,
};
