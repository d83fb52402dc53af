import type { Image } from '#src/model/environment.ts';
import { sandboxId } from '#src/model/ids.ts';
import { type TestNode, testTemplate } from './sandboxes.ts';

let sandboxes = 0;

/** Asks for a sandbox of this image until it is accepted or refused, and lets it go. */
export async function pullImage(
  { provider }: TestNode,
  reference: string,
  how: Partial<Extract<Image, { kind: 'image' }>> = {},
): Promise<void> {
  sandboxes += 1;
  const sandbox = sandboxId(`image-${sandboxes}`);
  const template = testTemplate({ image: { kind: 'image', reference, ...how } });
  for (;;) {
    try {
      await provider.create({ sandbox, template, tokenSha256: '0'.repeat(64) });
      return await provider.destroy(sandbox);
    } catch (thrown) {
      if (!String(thrown).includes('is being pulled')) throw thrown;
    }
  }
}
