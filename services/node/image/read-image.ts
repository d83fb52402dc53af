import { policyHome } from '../bwrap/places.ts';
import type { ImageUser } from '../bwrap/shifted-ids.ts';
import {
  type AccountFiles,
  findAccount,
  ownUser,
  readAccountFiles,
  rootHome,
  withOwnNames,
} from './accounts.ts';
import { type ImageConfig, readImageConfig } from './image-config.ts';

/** What the processes of a sandbox take from the image that its root is. */
export type ImageSettings = {
  readonly env: Readonly<Record<string, string>>;
  /** Where commands start; null: in the workspace of every sandbox. */
  readonly workdir: string | null;
  /** Home of the user who runs commands. */
  readonly home: string;
  readonly user: ImageUser;
  /** In place of the image's own. */
  readonly accounts: Partial<AccountFiles>;
};

/** For `image: host`. */
export const hostSettings = (runAs: 'user' | 'root'): ImageSettings => ({
  env: {},
  workdir: null,
  home: runAs === 'root' ? rootHome : policyHome,
  user: ownUser,
  accounts: {},
});

/** Each start reads it again, because a change of the file is not announced. Throws `start_failed`. */
export function readImage(root: string, runAs: 'user' | 'root'): ImageSettings {
  const { env, workdir, user } = readImageConfig(root) ?? noConfig;
  const accounts = readAccountFiles(root);
  const { home, ids, files } = findAccount(user, runAs, accounts);
  return { env, workdir, home, user: ids, accounts: withOwnNames({ ...accounts, ...files }) };
}

/** An image without a configuration says nothing. */
const noConfig: ImageConfig = { env: {}, workdir: null, user: '' };
