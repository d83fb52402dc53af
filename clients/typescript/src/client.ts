import { Misuse, ownFailure } from './errors.ts';
import { exchange, type Gateway } from './exchange.ts';
import { isObject, type Limits, NotCorral, readLimits } from './results.ts';
import { addressOf, routes } from './routes.ts';
import type { TrainingJob } from './tool-types.ts';
import { type Json, jsonText } from './writing.ts';

export type ClientOptions = {
  /** The gateway's address; default: CORRAL_URL. */
  readonly url?: string;
  /** An API key; default: CORRAL_KEY. */
  readonly key?: string;
  /** The training job; default: CORRAL_RUN, else the key's default run. */
  readonly run?: string;
  /** How long a call that cannot run is repeated, in addition to its command's own time. */
  readonly patienceS?: number;
  /** How long one request is held. */
  readonly holdS?: number;
  /** Receives what is tried again: each failure code when it first occurs, then once a minute; default: `console.warn`. */
  readonly log?: (line: string) => void;
};

/** A step's burst is served within minutes; a fleet that is upgraded, or a Redis that fails over, within this. */
const patienceS = 900;
/** Node's `fetch` gives up after 300 s without an answer. */
const longestHoldS = 270;

/** A fleet's address and a key. Holds no socket. */
export class Client {
  readonly gateway: Gateway;

  constructor(options: ClientOptions = {}) {
    const { env } = process;
    const run = options.run ?? env['CORRAL_RUN'];
    this.gateway = {
      url: checkUrl(options.url ?? env['CORRAL_URL'] ?? ''),
      key: checkHeader(options.key ?? env['CORRAL_KEY'], 'key', 'CORRAL_KEY'),
      run: run === undefined ? null : checkHeader(run, 'run', 'CORRAL_RUN'),
      patienceS: options.patienceS ?? patienceS,
      holdS: Math.min(longestHoldS, options.holdS ?? longestHoldS),
      log: options.log ?? ((line) => console.warn(line)),
    };
  }

  /**
   * Announces a burst, so that its sandboxes are ready when it comes. Returns how many are kept ready for it. `requires`: as its
   * rollouts have it.
   */
  async prewarm(environment: string, burst: Burst, neededAt?: Date): Promise<number> {
    const at = neededAt === undefined ? {} : { needed_at: neededAt.toISOString() };
    const body = jsonText({ environment, ...burst, ...at });
    const reply = await exchange(this.gateway, { route: routes.prewarm, path: routes.prewarm.path, body });
    return Number(reply.body['count'] ?? 0);
  }

  /** The environment's tools and grader as a training job names them, with the schema of each tool's arguments. */
  async tools(environment: string): Promise<TrainingJob> {
    const path = addressOf(routes.tools, { name: environment });
    const { body } = await exchange(this.gateway, { route: routes.tools, path });
    if (Array.isArray(body['functions'])) return body as TrainingJob;
    throw new Misuse(ownFailure('not_corral', 'the answer lists no tools; check the address', 'caller'));
  }

  /** What the environment gives each command: its user, writable folders, longest timeout, kept output. */
  async limits(environment: string): Promise<Limits> {
    const path = addressOf(routes.tools, { name: environment });
    const { body } = await exchange(this.gateway, { route: routes.tools, path });
    const { limits } = body;
    try {
      if (isObject(limits)) return readLimits(limits);
    } catch (error) {
      if (!(error instanceof NotCorral)) throw error;
    }
    throw misuse('the fleet does not list the limits of an environment: it is older than this client');
  }
}

export type PrewarmItem = { readonly item: Json | null; readonly count: number };

type Burst = ({ readonly count: number } | { readonly items: readonly PrewarmItem[] }) & {
  readonly requires?: Json;
};

function checkUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  const isGood = url !== null && ['http:', 'https:'].includes(url.protocol) && url.search + url.hash === '';
  if (isGood && url.hostname !== '') return text.replace(/\/+$/, '');
  throw misuse(
    `give the gateway's address as url, or in CORRAL_URL, like http://127.0.0.1:8700; got ${JSON.stringify(text)}`,
  );
}

/** The value may be a secret, so the message does not repeat it. */
function checkHeader(text: string | undefined, name: string, variable: string): string {
  if (text !== undefined && /^[!-~]+$/.test(text)) return text;
  throw misuse(`give a ${name} without spaces, or set ${variable}`);
}

const misuse = (message: string) => new Misuse(ownFailure('invalid_request', message, 'caller'));
