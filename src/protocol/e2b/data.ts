import { type Static, Type } from 'typebox';

/*
 * What E2B's clients say to a sandbox, as JSON of protobuf messages: `process.Process` and `filesystem.Filesystem`. Members
 * that are not named here are let pass, as protobuf has it.
 */

const Uint32 = Type.Integer({ minimum: 0, maximum: 0xffff_ffff });
const Path = Type.String({ minLength: 1, maxLength: 4096 });

export const StartRequest = Type.Object({
  process: Type.Object({
    cmd: Type.String({ minLength: 1 }),
    args: Type.Optional(Type.Array(Type.String(), { maxItems: 4096 })),
    envs: Type.Optional(Type.Record(Type.String(), Type.String())),
    cwd: Type.Optional(Type.String()),
  }),
  pty: Type.Optional(Type.Unknown()),
  stdin: Type.Optional(Type.Boolean()),
});
export type StartRequest = Static<typeof StartRequest>;

const Selector = Type.Object({ pid: Type.Optional(Uint32), tag: Type.Optional(Type.String()) });
export const ConnectRequest = Type.Object({ process: Selector });
export const SignalRequest = Type.Object({
  process: Selector,
  signal: Type.Optional(Type.Union([Type.String(), Type.Integer()])),
});
export const NoFields = Type.Object({});

export const PathRequest = Type.Object({ path: Path });
export const ListDirRequest = Type.Object({ path: Path, depth: Type.Optional(Uint32) });
export const MoveRequest = Type.Object({ source: Path, destination: Path });

export const FilesQuery = Type.Object({
  path: Type.Optional(Path),
  username: Type.Optional(Type.String()),
});

/** The members of a stream of `Start` or `Connect`. */
export type ProcessEvent =
  | { readonly start: { readonly pid: number } }
  | { readonly data: { readonly stdout: string } | { readonly stderr: string } }
  | { readonly keepalive: Record<string, never> }
  | { readonly end: ProcessEnd };

export type ProcessEnd = {
  readonly exitCode: number;
  /** False where something ended it that was not itself. */
  readonly exited: boolean;
  readonly status: string;
  readonly error?: string;
};
