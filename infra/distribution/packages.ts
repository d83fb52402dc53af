type Locked = {
  readonly dev?: boolean;
  readonly optional?: boolean;
  readonly devOptional?: boolean;
};

/**
 * The folders of `npm ci --omit=dev --omit=optional`, read from the lock file instead of asking npm. A package inside
 * another's folder is a folder of its own here.
 */
export function productionPackages(lock: {
  readonly packages: Readonly<Record<string, Locked>>;
}): readonly string[] {
  return Object.entries(lock.packages)
    .filter(([path, { dev, optional, devOptional }]) => path !== '' && !(dev ?? optional ?? devOptional))
    .map(([path]) => path);
}
