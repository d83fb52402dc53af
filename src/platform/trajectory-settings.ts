import type { ConfigReader } from './config.ts';

export type TrajectorySettings = {
  /** A folder, or `s3://bucket/prefix`. */
  readonly place: string;
  readonly keepDays: number;
  /** Of all trajectories together; null: no limit but the days. */
  readonly maxBytes: number | null;
  /** Where S3 is, and its credentials: the variables that all its clients read. */
  readonly variables: Readonly<Record<string, string | undefined>>;
};

const s3Variables = [
  'AWS_REGION',
  'AWS_DEFAULT_REGION',
  'AWS_ENDPOINT_URL_S3',
  'AWS_ENDPOINT_URL',
  'AWS_ACCESS_KEY_ID',
  'AWS_SECRET_ACCESS_KEY',
  'AWS_SESSION_TOKEN',
  'AWS_SHARED_CREDENTIALS_FILE',
  'AWS_PROFILE',
];

/** Null: no trajectory store. */
export function readTrajectorySettings(read: ConfigReader): TrajectorySettings | null {
  const place = read.optional('CORRAL_TRAJECTORIES');
  if (place === null) return null;
  const most = read.optional('CORRAL_TRAJECTORY_MAX_BYTES');
  return {
    place,
    keepDays: read.whole('CORRAL_TRAJECTORY_KEEP_DAYS', {
      purpose: 'days that trajectories are kept',
      fallback: 14,
      min: 1,
      max: 3650,
    }),
    maxBytes:
      most === null
        ? null
        : read.whole('CORRAL_TRAJECTORY_MAX_BYTES', {
            purpose: 'bytes of all trajectories',
            fallback: Number.MAX_SAFE_INTEGER,
            min: 64 * 1024 * 1024,
            max: Number.MAX_SAFE_INTEGER,
          }),
    variables: Object.fromEntries(s3Variables.map((name) => [name, read.optional(name) ?? undefined])),
  };
}
