const sanePath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/**
 * The environment of commands: the image's own, which is ours without our settings, then what the call adds. The
 * payload's PATH and libraries are never in it: the loader gets them as arguments.
 */
export function commandEnv(
  own: NodeJS.ProcessEnv,
  workspace: string,
  added: Readonly<Record<string, string>> = {},
): Record<string, string> {
  const image = Object.entries(own).filter(
    (entry): entry is [string, string] => entry[1] !== undefined && !entry[0].startsWith('CORRAL_'),
  );
  return { PATH: sanePath, HOME: workspace, ...Object.fromEntries(image), ...added };
}
