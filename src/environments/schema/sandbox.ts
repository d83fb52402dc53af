import { type Static, Type } from 'typebox';
import {
  AbsolutePath,
  Argv,
  BytesUpTo,
  CommandVariables,
  CpuShare,
  Duration,
  fromItem,
  MemoryShare,
  Name,
  strict,
} from './parts.ts';
import { placementFields } from './placement.ts';

/** Each dataset row names its image, in one field; an environment that lets every image in says so: `["*"]`. */
const ImageFromRow = strict({
  from: fromItem('the field of the row that names the image: item.image'),
  allow: Type.Array(Type.String({ minLength: 1 }), {
    minItems: 1,
    description: 'a list of images and patterns in which * stands for anything',
  }),
});

/** Each is a mount of its own. */
const mostFolders = 16;
const mostData = 64;

/** What is at one place, read-only; which fields go together is said by `compile/data.ts`. */
const DataYaml = strict({
  source: Type.Optional(Type.String({ minLength: 1 })),
  build: Type.Optional(Argv),
  inputs: Type.Optional(
    Type.Array(Type.String({ minLength: 1 }), { description: 'a list of files and folders' }),
  ),
  timeout: Type.Optional(Duration),
  image: Type.Optional(Type.String({ minLength: 1 })),
  target: AbsolutePath,
});

const MirrorAddress = Type.String({
  minLength: 1,
  description: 'an address such as https://packages.example/simple/',
});

/** Which names configure a package manager is said by `services/node/mirrors/settings.ts`. */
const MirrorsYaml = strict({
  mirrors: Type.Record(
    Type.String({ pattern: '^[a-z][a-z0-9-]{0,30}$' }),
    Type.Union([MirrorAddress, Type.Array(MirrorAddress, { minItems: 1 })], {
      description: 'an address, or a list of the index and of where its files are',
    }),
    {
      additionalProperties: false,
      minProperties: 1,
      title: 'mirrors are named by lower-case letters, digits and dashes: pypi, debian, npm',
      description: 'addresses by name: {pypi: [https://packages.example/simple/, https://files.example/]}',
    },
  ),
});

/** What a sandbox is created from. */
export const SandboxSchema = strict({
  image: Type.Union([Type.String({ minLength: 1 }), ImageFromRow], {
    description:
      'host, rootfs:PATH, an image reference such as python:3.12-slim, or {from: item.FIELD, allow: [PATTERN]}',
  }),
  cpu: Type.Optional(CpuShare),
  memory: Type.Optional(MemoryShare),
  disk: Type.Optional(BytesUpTo),
  shm: Type.Optional(BytesUpTo),
  devices: Type.Optional(
    Type.Record(
      Type.String({ pattern: '^[a-z0-9][a-z0-9.-]{0,252}/[A-Za-z0-9._-]{1,63}$' }),
      Type.Integer({ minimum: 1, maximum: 16, description: 'a whole number from 1 to 16' }),
      {
        additionalProperties: false,
        title: 'devices have the names that the cluster gives them: nvidia.com/gpu',
        description: 'numbers by name: {nvidia.com/gpu: 1}',
      },
    ),
  ),
  processes: Type.Optional(Type.Integer({ minimum: 16, description: 'a whole number from 16' })),
  network: Type.Optional(
    Type.Union([Name, MirrorsYaml], {
      description: 'none, a network class of the operator, or {mirrors: {pypi: ADDRESS, ...}}',
    }),
  ),
  run_as: Type.Optional(
    Type.Union([Type.Literal('user'), Type.Literal('root')], { description: 'user or root' }),
  ),
  uid: Type.Optional(
    Type.Union([Type.Literal('separate'), Type.Literal('single')], { description: 'separate or single' }),
  ),
  ...placementFields,
  env: Type.Optional(CommandVariables),
  data: Type.Optional(Type.Array(DataYaml, { maxItems: mostData })),
  folders: Type.Optional(
    Type.Array(
      Type.String({
        pattern: '^/[A-Za-z0-9._/-]+$',
        description: 'an absolute path of letters, digits, dots, _ and -',
      }),
      { maxItems: mostFolders, description: `a list of at most ${mostFolders} folders` },
    ),
  ),
  workdir: Type.Optional(
    Type.Literal('read_only', { description: "read_only, if tasks only read the image's working directory" }),
  ),
  network_waived: Type.Optional(
    Type.Boolean({ description: 'true, if tasks that request a public network also work without one' }),
  ),
  prepare: Type.Optional(Type.Array(Argv)),
  start_timeout: Type.Optional(Duration),
});

export type SandboxYaml = Static<typeof SandboxSchema>;
