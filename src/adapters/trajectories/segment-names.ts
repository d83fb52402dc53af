import { createHash } from 'node:crypto';
import type { RunId, TenantId } from '#src/model/ids.ts';
import type { Owner } from '#src/model/rollout.ts';

/*
 * Where trajectories lie: `<tenant>/<run>/<day>/<writer>-<number>.jsonl.gz`, a segment of one writer with one gzip member a rollout,
 * and next to it `.idx`, its index: a line for each member. Both are JSON Lines once unpacked.
 */

export const segmentEnd = '.jsonl.gz';
export const indexEnd = '.idx';

/** A file system allows 255 bytes in a name, and an id may have 256 characters, each percent-encoded. */
const longestPart = 180;
const digestLength = 24;

/** No encoded id has this mark in it. */
const cutMark = '%~';

function folderOf(id: string): string {
  const part = encodeURIComponent(id);
  if (part.length <= longestPart) return part;
  const digest = createHash('sha256').update(id).digest('hex').slice(0, digestLength);
  return `${part.slice(0, longestPart - digestLength)}${cutMark}${digest}`;
}

export const tenantFolder = (tenant: TenantId): string => folderOf(tenant);

export const runFolder = ({ tenant, run }: Pick<Owner, 'tenant' | 'run'>): string =>
  runFolderIn(tenantFolder(tenant), run);
/** `tenant`: the name of a tenant's folder. */
export const runFolderIn = (tenant: string, run: RunId): string => `${tenant}/${folderOf(run)}/`;

export function segmentName(folder: string, atMs: number, writer: string, number: number): string {
  const day = new Date(atMs).toISOString().slice(0, 10);
  return `${folder}${day}/${writer}-${String(number).padStart(6, '0')}${segmentEnd}`;
}

export const indexOf = (segment: string): string => segment.slice(0, -segmentEnd.length) + indexEnd;

/** The folder of its run and its day; null: it is no part of a trajectory, but a file of another program, as logs by day are. */
export function parseName(name: string): { readonly run: string; readonly day: string } | null {
  const [tenant, run, day, file, ...rest] = name.split('/');
  if (run === undefined || day === undefined || file === undefined || rest.length > 0) return null;
  if (!/^\d{4}-\d\d-\d\d$/.test(day) || !isOfWriter.test(file)) return null;
  return { run: `${tenant}/${run}`, day };
}

const isOfWriter = /^gateway-[0-9a-z]{8}-\d{6,12}(?:\.jsonl\.gz|\.idx)$/;
