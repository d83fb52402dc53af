/** For `process.kill` 0 is the whole process group, so a process that was not found would end or stop the test run. */
export function sendSignal(pid: number | null | undefined, signal: NodeJS.Signals): void {
  if (pid === null || pid === undefined || pid <= 0) throw new Error(`no process gets the ${signal}`);
  process.kill(pid, signal);
}
