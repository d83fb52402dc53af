/** Processor time of this thread: what other processes of a busy machine do meanwhile does not count. */
export function cpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}
