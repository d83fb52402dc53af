import type { Template } from '#src/model/environment.ts';
import type { Plan } from '../bwrap/arguments.ts';
import type { LaunchSpec } from '../bwrap/launch.ts';
import type { Users } from '../bwrap/places.ts';
import type { ImageSettings } from '../image/read-image.ts';
import type { OwnEtc } from './own-etc.ts';
import type { SandboxFolder } from './record.ts';

/** What the root of one sandbox is made from. */
export type Made = {
  readonly template: Template;
  readonly folder: SandboxFolder;
  readonly users: Users;
  readonly image: ImageSettings;
  readonly etc: OwnEtc;
};

/** A root, and what its launch mounts for it. */
export type Rooted = { readonly root: RootPlan; readonly mounts: LaunchSpec['mounts'] };

/** What a plan says of the root. */
type RootPlan = Pick<
  Plan,
  | 'overlay'
  | 'root'
  | 'writable'
  | 'etc'
  | 'kept'
  | 'emptyFile'
  | 'payloadFolder'
  | 'data'
  | 'runFolder'
  | 'diskFolder'
  | 'terminalsFolder'
>;
