import type { Config } from '../config.ts';
import { keptFromPolicy } from './kept-from-policy.ts';

const sanePath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** Our own settings, and where the API server is: Kubernetes tells every container, also one that has no use for it. */
const notTheImages = /^(?:CORRAL_|KUBERNETES_(?:SERVICE|PORT)(?:_|$))/;

type Variables = Readonly<Record<string, string>>;

/**
 * The environment of commands: the image's own, which is ours without what its container was told, then what the call
 * adds. The payload's PATH and libraries are never in it: the loader gets them as arguments.
 */
export function commandEnv(
  own: NodeJS.ProcessEnv,
  workspace: string,
  added: Variables = {},
): Record<string, string> {
  const image = Object.entries(own).filter(
    (entry): entry is [string, string] => entry[1] !== undefined && !notTheImages.test(entry[0]),
  );
  return { PATH: sanePath, HOME: workspace, ...Object.fromEntries(image), ...added };
}

/** What of the image's environment a grader keeps beside the PATH: how text and time are written. */
const languageOnly = /^(?:LANG|LANGUAGE|LC_[A-Z]+|TZ)$/;

/**
 * The environment of the grader: nothing that names a folder of the policy's, neither for programs nor for what these
 * load by themselves (NODE_PATH, PYTHONPATH, the settings in a home).
 */
export function graderEnv(
  own: NodeJS.ProcessEnv,
  config: Config,
  home: string,
  added: Variables = {},
): Record<string, string> {
  const kept = Object.entries(own).filter(
    (entry): entry is [string, string] => entry[1] !== undefined && languageOnly.test(entry[0]),
  );
  const folders = (own['PATH'] ?? sanePath).split(':').map((each) => keptFromPolicy(each, config));
  const path = folders.filter((each) => each !== null);
  return {
    ...Object.fromEntries(kept),
    PATH: path.length === 0 ? sanePath : path.join(':'),
    HOME: home,
    CORRAL_WORKSPACE: config.workspace,
    ...added,
  };
}
