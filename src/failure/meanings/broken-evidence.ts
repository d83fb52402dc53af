/*
 * What a failure of a sandbox's own side needs, so that it counts as the policy's and is worth a score. Without all of it, it is a discard
 * that is marked.
 */
export type BrokenEvidence = {
  readonly what: string;
  /** The witness, which no policy can influence and no fault of a machine brings about. */
  readonly counts: string;
  readonly otherwise: string;
};

const ownAccount = 'the kernel’s account of the sandbox shows that it reached its own limit';

export const brokenEvidence: readonly BrokenEvidence[] = [
  {
    what: 'Sandbox ended for memory or disk',
    counts: `By its provider: ${ownAccount}, or the kubelet names the pod’s own limit. A lack of the machine is ruled out.`,
    otherwise: 'The limit is not certainly its own: `node_out_of_memory`, `evicted`.',
  },
  {
    what: 'sandboxd ended',
    counts:
      'Commands have its id (`uid: single`, `run_as: root`), and a signal ended it that only a process sends, such as `SIGKILL`.',
    otherwise:
      'It ended by an exit code or a signal of a crash, as without its files or on a failing disk; or memory was lacked, and it is unknown whose.',
  },
  {
    what: 'Grader without room (files, start, score)',
    counts: `By sandboxd: ${ownAccount}, after all of the policy’s processes have ended; and a second try finds the same.`,
    otherwise:
      'A slow or lost helper, a full or failing disk, processes that cannot be killed, a grader that does not end.',
  },
  {
    what: 'Files that cannot be read or sent',
    counts: `The reader reports an error that only files cause; or ${ownAccount}, in three tries.`,
    otherwise: 'I/O errors, a reader that is slow, lost or missing.',
  },
  {
    what: 'Grader in a sandbox of its own',
    counts: `Twice: ${ownAccount}, with the policy’s files in it.`,
    otherwise: 'Any other end of that sandbox: another one takes its place.',
  },
  {
    what: 'Built-in tool',
    counts: 'It ran, and all files of Corral’s own can be read.',
    otherwise: 'Its program cannot be run, or such a file is gone: the sandbox is lost.',
  },
];
