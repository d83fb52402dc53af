import type { AmountFields, Ceilings } from './amounts.ts';
import type { DataDigest, EnvironmentName, EnvironmentVersion, TemplateDigest } from './ids.ts';
import type { Dataset } from './dataset.ts';
import type { Dependency } from './dependency.ts';
import type { Grader } from './grader.ts';
import { type Mirrors, mirrorProxyBytes } from './mirrors.ts';

/**
 * What container engines give root beyond SETUID, SETGID and KILL, which sandboxd needs of every sandbox. Left out of theirs: NET_RAW, which
 * answers at a neighbor's address, and MKNOD, which has no effect in a user namespace.
 */
export const rootCapabilities = [
  'CHOWN',
  'DAC_OVERRIDE',
  'FOWNER',
  'FSETID',
  'SETFCAP',
  'SETPCAP',
  'NET_BIND_SERVICE',
  'SYS_CHROOT',
  'AUDIT_WRITE',
] as const;

/** What a sandbox is created from; pools, waiting lines and breakers are kept by its digest. */
export type Template = TemplateBody & { readonly digest: TemplateDigest; readonly image: Image };

/** A template whose image each dataset row names: with a row's image it is a {@link Template}, before that nothing. */
export type OpenTemplate = TemplateBody & { readonly image: ImageOfRow };

export function isOpenTemplate(template: Template | OpenTemplate): template is OpenTemplate {
  return template.image.kind === 'row';
}

/** All amounts are in the unit their name says. */
export type TemplateBody = {
  readonly cpu: { readonly requestMilli: number; readonly limitMilli: number };
  readonly memory: { readonly requestBytes: number; readonly limitBytes: number };
  readonly diskBytes: number;
  /** Of `/dev/shm`; absent: `usualShmBytes`. */
  readonly shmBytes?: number;
  /** On a machine where the disk takes memory, it comes on top of `memory`: a task demanded one of both. Absent: within it. */
  readonly diskApart?: true;
  /** Whole devices of a cluster's nodes by their names, such as `nvidia.com/gpu`. Absent: none. */
  readonly devices?: Readonly<Record<string, number>>;
  readonly processes: number;
  /** `none`, `mirrors`, or a network class that the operator defined. */
  readonly network: string;
  /** Of `network: mirrors`; absent: it reaches none. */
  readonly mirrors?: Mirrors;
  /** `root`: commands run under sandboxd's own id; see docs for what evidence that costs. */
  readonly runAs: 'user' | 'root';
  /** `single`: sandboxd and commands share one ordinary id, where ids cannot be switched; one machine does not need it. */
  readonly uid: 'separate' | 'single';
  readonly placement: Placement;
  /** Added to every command's environment. */
  readonly env: Readonly<Record<string, string>>;
  /** Folders that are there from the start, read-only. */
  readonly data: readonly DataFolder[];
  /** Writable folders beside the workspace and /tmp, empty at the start, on the template's disk. Absent: none. */
  readonly folders?: readonly string[];
  /** Of sandboxes in which only graders work, so that they have a pool and a line of their own. Absent: the policy's. */
  readonly role?: 'grader';
  /** Run before ready, knows no task. */
  readonly prepare: readonly (readonly string[])[];
  readonly startTimeoutMs: number;
};

/** What a sandbox may take of its machine's memory: its files, too, if they come on top of its own limit. */
export const memoryLimitOf = ({
  memory,
  diskBytes,
  diskApart,
}: Pick<TemplateBody, 'memory' | 'diskBytes' | 'diskApart'>): number =>
  memory.limitBytes + (diskApart === true ? diskBytes : 0);

/** What a machine promises for it: its own limit, and that of the proxy which asks mirrors for it. */
export const promisedMemoryOf = (template: TemplateBody): number =>
  memoryLimitOf(template) + (template.mirrors === undefined ? 0 : mirrorProxyBytes);

/**
 * `host`: this machine's own programs, read-only (local provider). `rootfs`: a folder (local). `image`: an image of a registry, or
 * an archive of one (local).
 * `anonymous`: a row names it, and no pattern names its registry; it is pulled without credentials, which would else be for anyone who
 * sends rows.
 * `config`: sha256 of the {@link imageConfigFile} that an environment was read with, so that warm sandboxes of an earlier one are
 * replaced; each start reads the file again. Absent: there was no file, or a row names the folder.
 */
export type Image =
  | { readonly kind: 'host' }
  | { readonly kind: 'rootfs'; readonly path: string; readonly config?: string }
  | { readonly kind: 'image'; readonly reference: string; readonly anonymous?: true };

/** Where the ENV, WORKDIR and USER of an image stand whose files are in the folder `path`. */
export const imageConfigFile = (path: string): string =>
  `${path.endsWith('/') && path !== '/' ? path.slice(0, -1) : path}.config.json`;

/** The image is what the row says in `field`, where it matches a pattern of both lists; `*` is anything. */
export type ImageOfRow = {
  readonly kind: 'row';
  readonly field: string;
  /** The environment's own list, and the operator's. */
  readonly allow: readonly string[];
  readonly permitted: readonly string[];
};

/** Where a cluster puts a sandbox and in what kind of container; one machine has no choice in it. Null: as the cluster does. */
export type Placement = {
  /** gVisor, Kata: what stands between commands and the node's kernel. */
  readonly runtimeClass: string | null;
  readonly priorityClass: string | null;
  readonly nodeSelector: Readonly<Record<string, string>>;
  readonly tolerations: readonly Toleration[];
  /** Of the sandbox, for the operator's own tools. */
  readonly labels: Readonly<Record<string, string>>;
};

/** A taint that a sandbox accepts; null: any value, any effect. */
export type Toleration = {
  readonly key: string;
  readonly value: string | null;
  readonly effect: 'NoSchedule' | 'PreferNoSchedule' | 'NoExecute' | null;
};

/** A cluster's own choice in everything. */
export const anyPlace: Placement = {
  runtimeClass: null,
  priorityClass: null,
  nodeSelector: {},
  tolerations: [],
  labels: {},
};

/** A folder of this machine, what a program made once, or (on a cluster) what an image holds; at `target`, read-only. */
export type DataFolder = SourceFolder | BuiltFolder | ImageFolder;
export type SourceFolder = { readonly source: string; readonly target: string };
export type BuiltFolder = { readonly build: DataBuild; readonly target: string };
export type ImageFolder = { readonly image: string; readonly target: string };

/** In place of an image: the data is a layer of the sandbox's own image. */
export const bakedData = 'baked';

/** How data is made, once for all sandboxes of a machine. */
export type DataBuild = {
  /** Run where the inputs are, each under its last name. */
  readonly argv: readonly string[];
  /** Files and folders of this machine. */
  readonly inputs: readonly string[];
  readonly timeoutMs: number;
  /** Of the command and of all that the inputs hold: the same digest is the same data. */
  readonly digest: DataDigest;
};

/** An environment as compiled from its YAML: checked, with every default filled in. */
export type Environment = {
  readonly name: EnvironmentName;
  readonly version: EnvironmentVersion;
  readonly description: string;
  readonly template: Template | OpenTemplate;
  /** What graders that work where the policy never was get their sandbox from; absent where none does. */
  readonly graderTemplate?: Template | OpenTemplate;
  /** Where rows have the amounts that their tasks demand; absent: rows demand none. */
  readonly demands?: AmountFields;
  /** The most that a task may demand. It is the operator's of this process, and no part of the version. */
  readonly ceilings?: Ceilings;
  /** Run after bind and before the first call, with the exposed item fields; never charged to a command. */
  readonly setup: { readonly commands: readonly (readonly string[])[]; readonly timeoutMs: number };
  /** Item fields that may enter the sandbox. */
  readonly expose: readonly string[];
  readonly tools: Readonly<Record<string, Tool>>;
  readonly limits: Limits;
  readonly grader: Grader;
  /** What becomes of a rollout of which the platform names calls that never reached us. */
  readonly unseenCalls: 'discard' | 'report';
  /** The score of a rollout whose final answer is too long to be graded. */
  readonly onTooLong: number;
  readonly texts: Texts;
  /**
   * `true`: graded rollouts are kept as their grader saw them, for a newer grader. `all`: also the texts of every call when it
   * settles. Absent: nothing is kept. The author's `graded` stays `true` here, so that versions and older gateways keep working.
   */
  readonly keep?: true | 'all';
  /** Demands of tasks that are not held against it; absent: none. */
  readonly waives?: { readonly network?: true; readonly writableWorkdir?: true };
  /** Its rows and its prompt, of which a fleet knows the digests; absent: they are the trainer's own. */
  readonly dataset?: Dataset;
  readonly pool: PoolSizes;
};

/** Tools of a program's terminal: it stays open between calls. `sessions: [terminal]` gives all of them. */
export type TerminalTool = `terminal_${'open' | 'send' | 'read' | 'close'}`;

/** Tools of a page in a browser, which stays open between calls as well. `sessions: [browser]` gives all of them. */
export type BrowserTool = `browser_${'goto' | 'click' | 'type' | 'read' | 'screenshot'}`;

/** What stays open between calls. */
type SessionKind = 'terminal' | 'browser';

/** Whether the model may open such sessions in it. */
export const hasSessions = ({ tools }: Pick<Environment, 'tools'>, kind: SessionKind): boolean =>
  Object.values(tools).some(({ run }) => run.kind === 'builtin' && run.tool.startsWith(`${kind}_`));

export type PoolSizes = {
  readonly minReady: number;
  /** Of all its sandboxes, the grader's among them. */
  readonly max: number;
  readonly maxAgeMs: number;
  /** The grader's share of `max`: rollouts that hold all that is left of it never wait for each other. */
  readonly grader?: { readonly minReady: number; readonly max: number };
};

/** JSON Schema (draft 2020-12 subset that ajv checks). */
export type JsonSchema = Readonly<Record<string, unknown>>;

export type Tool = {
  readonly name: string;
  readonly description: string;
  /** Schema of the arguments object. */
  readonly parameters: JsonSchema;
  readonly timeoutMs: number;
  readonly run:
    | {
        readonly kind: 'command';
        /** Whole argv elements, or parts of one, may be `{argument}`; never a shell string that we spliced. */
        readonly argv: readonly string[];
        /** Always empty: the previous release reads it, and the digests of versions cover it. */
        readonly infrastructureExits?: readonly [];
        /** Absent: it depends on nothing outside of its sandbox. */
        readonly dependency?: Dependency;
      }
    | {
        readonly kind: 'builtin';
        readonly tool: 'read_file' | 'write_file' | 'list_files' | 'search' | TerminalTool | BrowserTool;
      }
    | {
        /** A query of a database that the policy cannot write; see `protocol/sandboxd/wire.ts`. */
        readonly kind: 'index';
        readonly database: string;
        /** `:name` is an argument, `:item_name` an exposed field of the row. */
        readonly sql: string;
        /** Words and names of columns in turns; null: a row is a line of JSON. */
        readonly each: readonly string[] | null;
        readonly none: string;
      };
};

export type Limits = {
  readonly toolCalls: number;
  /** Bytes of one output as the model gets it, encoded. */
  readonly outputBytes: number;
  readonly rolloutMs: number;
  readonly idleMs: number;
  readonly gradeMs: number;
  readonly hardLifeMs: number;
};

/** Every sentence of ours that the model can see. `{…}` are filled in. */
export type Texts = {
  readonly exitCode: string; // {code}
  readonly signalled: string; // {signal}
  readonly timedOut: string; // {seconds}
  readonly bytesCut: string; // {bytes}
  readonly notStarted: string; // {reason}
  readonly badArguments: string; // {reason}
  readonly unknownTool: string; // {tool}, {tools}
  readonly budgetSpent: string; // {limit}
  readonly tooManyAtOnce: string;
  readonly timeSpent: string; // {minutes}
  readonly outOfMemory: string;
  readonly brokeSandbox: string; // {reason}
  readonly sandboxBroken: string; // {reason}
  readonly cancelled: string;
};

/** What a gateway needs to find environments by name and version. */
export interface EnvironmentCatalog {
  /** The newest version of each, by name. */
  newest(name: EnvironmentName): Environment | undefined;
  byVersion(version: EnvironmentVersion): Environment | undefined;
  all(): readonly Environment[];
  /** An environment that others published, held to the policy of this process' operator. */
  permitted(environment: Environment): Permission;
}

export type Permission =
  | { readonly kind: 'permitted'; readonly environment: Environment }
  | { readonly kind: 'refused'; readonly because: string };
