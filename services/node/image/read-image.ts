import { type AccountFiles, findAccount, readAccountFiles } from './accounts.ts';
import { readImageConfig } from './image-config.ts';

/** What the processes of a sandbox take from the image that its root is. */
export type ImageSettings = {
  readonly env: Readonly<Record<string, string>>;
  /** Where commands start; null: in the workspace of every sandbox. */
  readonly workdir: string | null;
  /** Null: the image does not say. */
  readonly home: string | null;
  /** In place of the image's own. */
  readonly accounts: Partial<AccountFiles>;
};

/** For images without a configuration, and for `image: host`. */
export const noImageSettings: ImageSettings = { env: {}, workdir: null, home: null, accounts: {} };

/** Each start reads it again, because a change of the file is not announced. Throws `start_failed`. */
export function readImage(root: string, runAs: 'user' | 'root'): ImageSettings {
  const config = readImageConfig(root);
  if (config === null) return noImageSettings;
  const { env, workdir, user } = config;
  const { home, files } = findAccount(user, runAs, readAccountFiles(root));
  return { env, workdir, home, accounts: files };
}
