import { policyHome } from '../bwrap/places.ts';
import type { ImageUser } from '../bwrap/shifted-ids.ts';
import {
  type AccountFiles,
  findAccount,
  type OwnIds,
  ownUser,
  readAccountFiles,
  rootHome,
  unusedIds,
  usualIds,
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
  readonly ownIds: OwnIds;
  /** In place of the image's own. */
  readonly accounts: Partial<AccountFiles>;
};

/** For `image: host`. */
export const hostSettings = (runAs: 'user' | 'root'): ImageSettings => ({
  env: {},
  workdir: null,
  home: runAs === 'root' ? rootHome : policyHome,
  user: ownUser,
  ownIds: usualIds,
  accounts: {},
});

/** Each start reads it again, because a change of the file is not announced. Throws `start_failed`. */
export function readImage(root: string, runAs: 'user' | 'root'): ImageSettings {
  return imageSettings(root, readImageConfig(root) ?? noConfig, runAs, null);
}

/** `root`: where its files are. `owners`: of its files; null: they are not known. Throws `start_failed`. */
export function imageSettings(
  root: string,
  { env, workdir, user }: ImageConfig,
  runAs: 'user' | 'root',
  owners: readonly number[] | null,
): ImageSettings {
  const accounts = readAccountFiles(root);
  const { home, ids, files } = findAccount(user, runAs, accounts);
  const named = { ...accounts, ...files };
  const ownIds = owners === null ? usualIds : unusedIds(owners, ids, named);
  const own = { env, workdir, home, user: ids, ownIds };
  // Commands that are root add accounts, and get the numbers that they get in a container.
  return { ...own, accounts: runAs === 'root' ? files : withOwnNames(named, ownIds) };
}

/** An image without a configuration says nothing. */
const noConfig: ImageConfig = { env: {}, workdir: null, user: '' };
