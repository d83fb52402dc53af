import { parseArgs } from 'node:util';
import { CommandError } from '#cli/command-error.ts';
import { mostNodes, type NodeLoss } from './plan.ts';
import type { Start } from './up.ts';

/** What the command line asks for. */
export type Order =
  | { readonly command: 'up'; readonly start: Start }
  | { readonly command: 'down' | 'status'; readonly name: string }
  | { readonly command: 'run'; readonly name: string; readonly argv: readonly string[] };

const usage = `npm run cluster -- up [--name dev] [--nodes 2] [--fake-nodes 0] [--node-loss fast|patient] [--image FILE]…
                       down | status [--name dev]
                       run [--name dev] -- COMMAND…`;

const options = {
  name: { type: 'string', default: 'dev' },
  nodes: { type: 'string', default: '2' },
  'fake-nodes': { type: 'string', default: '0' },
  'node-loss': { type: 'string' },
  image: { type: 'string', multiple: true, default: [] as string[] },
} as const;

/** Reads the arguments; throws a CommandError with the usage. */
export function readOrder(args: readonly string[]): Order {
  const { values, positionals } = parsed(args);
  const [command, ...argv] = positionals;
  const name = clusterName(values.name);
  switch (command) {
    case 'up':
      return { command, start: { name, images: values.image, ...sizes(values) } };
    case 'down':
    case 'status':
      return { command, name };
    case 'run':
      if (argv.length === 0) throw mistake('run needs a command after --');
      return { command, name, argv };
    case undefined:
      throw mistake('say what to do');
    default:
      throw mistake(`there is no command ${command}`);
  }
}

type Sizes = { readonly nodes: string; readonly 'fake-nodes': string; readonly 'node-loss'?: string };

/** Fake nodes need patience; see {@link NodeLoss}. */
function sizes(values: Sizes): Pick<Start, 'nodes' | 'fakeNodes' | 'nodeLoss'> {
  const fakeNodes = whole('--fake-nodes', values['fake-nodes'], 1_000);
  const nodeLoss = values['node-loss'] ?? (fakeNodes > 0 ? 'patient' : 'fast');
  if (!isNodeLoss(nodeLoss)) throw mistake(`--node-loss is ${nodeLoss}, not fast or patient`);
  return { nodes: whole('--nodes', values.nodes, mostNodes), fakeNodes, nodeLoss };
}

function parsed(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true });
  } catch (error) {
    throw mistake(error instanceof Error ? error.message : String(error));
  }
}

/** Names of network interfaces and of control groups are made of it. */
function clusterName(name: string): string {
  if (/^[a-z][a-z0-9]{0,15}$/.test(name)) return name;
  throw mistake(`--name is ${JSON.stringify(name)}, not 1 to 16 small letters and digits, a letter first`);
}

function whole(option: string, text: string, most: number): number {
  const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (value <= most) return value;
  throw mistake(`${option} is ${JSON.stringify(text)}, not a whole number from 0 to ${most}`);
}

const isNodeLoss = (text: string): text is NodeLoss => text === 'fast' || text === 'patient';

const mistake = (what: string): CommandError => new CommandError(what, 'yours', usage);
