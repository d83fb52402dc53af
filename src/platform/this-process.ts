import { hostname } from 'node:os';
import own from '../../package.json' with { type: 'json' };

/** As operators know this process: in a cluster the host is its pod. The version is Corral's. */
export const thisProcess = { host: hostname(), pid: process.pid, version: own.version } as const;
