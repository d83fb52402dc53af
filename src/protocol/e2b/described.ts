import { type Static, type TObject, Type } from 'typebox';

/**
 * What the OpenAPI document says of a route of E2B's wire. Its answers are E2B's: their handlers build them, and no schema
 * checks them. So the compiler sees nothing of `response`.
 */
export function described(
  operationId: string,
  summary: string,
  answers: Readonly<Record<number, unknown>>,
  headers: DescribedHeaders = {},
): { readonly operationId: string } {
  const unseen = { summary, response: answers, ...headers };
  return { operationId, ...unseen };
}

/** Headers that a route reads, and headers that its answers may have. */
type DescribedHeaders = { readonly headers?: TObject; readonly answerHeaders?: TObject };

/** The same of a stream of Connect, in and out. */
export function describedStream(operationId: string, summary: string): { readonly operationId: string } {
  const media = { consumes: [connectType], produces: connectType };
  return { ...described(operationId, summary, { 200: Bytes }), ...media };
}

const connectType = 'application/connect+json';

/** Versions of one address do the same, and each has an id of its own. */
export const versioned = (operationId: string, path: string): string =>
  `${operationId}${/^\/(v\d)\//.exec(path)?.[1]?.toUpperCase() ?? ''}`;

export const Nothing = Type.Null();
export const Bytes = Type.Unsafe<unknown>({ type: 'string', format: 'binary' });
const Text = Type.String();

/** What a client needs to speak to a sandbox. */
export const SandboxOpened = Type.Object(
  {
    templateID: Text,
    sandboxID: Text,
    clientID: Text,
    envdVersion: Text,
    envdAccessToken: Text,
    domain: Type.Null(),
  },
  { title: 'E2bSandbox' },
);
export type SandboxAnswer = Static<typeof SandboxOpened>;

export const SandboxInfo = Type.Object(
  {
    templateID: Text,
    sandboxID: Text,
    clientID: Text,
    startedAt: Text,
    endAt: Text,
    cpuCount: Type.Number(),
    memoryMB: Type.Number(),
    diskSizeMB: Type.Number(),
    state: Type.Literal('running'),
    envdVersion: Text,
    metadata: Type.Optional(Type.Record(Text, Type.Unknown())),
  },
  { title: 'E2bSandboxInfo' },
);

export const TemplateAlias = Type.Object(
  { templateID: Text, public: Type.Boolean() },
  { title: 'E2bTemplateAlias' },
);
export const TemplateMade = Type.Object(
  {
    templateID: Text,
    buildID: Text,
    public: Type.Boolean(),
    names: Type.Array(Text),
    aliases: Type.Array(Text),
    tags: Type.Array(Text),
  },
  { title: 'E2bTemplate' },
);
export const TemplateTag = Type.Object(
  { tag: Text, buildID: Text, createdAt: Text },
  { title: 'E2bTemplateTag' },
);
export const BuildStatus = Type.Object(
  {
    templateID: Text,
    buildID: Text,
    status: Text,
    logs: Type.Array(Text),
    logEntries: Type.Array(Type.Unknown()),
  },
  { title: 'E2bBuild' },
);

const Entry = Type.Object(
  {
    name: Text,
    type: Type.Union([
      Type.Literal('FILE_TYPE_FILE'),
      Type.Literal('FILE_TYPE_DIRECTORY'),
      Type.Literal('FILE_TYPE_SYMLINK'),
      Type.Literal('FILE_TYPE_UNSPECIFIED'),
    ]),
    path: Text,
    size: Type.String({ description: 'a 64-bit number, as the JSON of protobuf has it' }),
    mode: Type.Number(),
    permissions: Text,
    owner: Text,
    group: Text,
    modifiedTime: Text,
    symlinkTarget: Type.Optional(Text),
  },
  { title: 'E2bEntry' },
);
export type EntryInfo = Static<typeof Entry>;
export const OneEntry = Type.Object({ entry: Entry });
export const Entries = Type.Object({ entries: Type.Array(Entry) });
export const Processes = Type.Object({
  processes: Type.Array(Type.Object({ pid: Type.Number(), config: Type.Object({ cmd: Text }) })),
});
export const Empty = Type.Object({});
export const FilesWritten = Type.Array(Type.Object({ name: Text, type: Text, path: Text }));
