const sanePath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** Our own settings, and where the API server is: Kubernetes tells every container, also one that has no use for it. */
const notTheImages = /^(?:CORRAL_|KUBERNETES_(?:SERVICE|PORT)(?:_|$))/;

/**
 * The environment of commands: the image's own, which is ours without what its container was told, then what the call
 * adds. The payload's PATH and libraries are never in it: the loader gets them as arguments.
 */
export function commandEnv(
  own: NodeJS.ProcessEnv,
  workspace: string,
  added: Readonly<Record<string, string>> = {},
): Record<string, string> {
  const image = Object.entries(own).filter(
    (entry): entry is [string, string] => entry[1] !== undefined && !notTheImages.test(entry[0]),
  );
  return { PATH: sanePath, HOME: workspace, ...Object.fromEntries(image), ...added };
}
