export type Part = 'request' | 'call' | 'grade' | 'client' | 'fleet';

/** What is tried again, or looked at again, by others than the one loop of gateways and controllers. */
export type Elsewhere = {
  readonly part: Part;
  readonly what: string;
  readonly on: string;
  readonly often: string;
  readonly until: string;
  readonly by: readonly string[];
};

/** The numbers stand in the files that are named. */
export const elsewhere: readonly Elsewhere[] = [
  {
    part: 'request',
    what: 'a rollout’s place in the queue',
    on: 'no sandbox is free',
    often: 'checked when woken, and every two seconds',
    until: 'until the request’s time is over, less the command’s on the RFT face; at most 300 s for a call',
    by: ['src/claiming/waiting-room.ts', 'src/calls/admission.ts'],
  },
  {
    part: 'request',
    what: 'giving up a sandbox for another, for all rollouts of a template together',
    on: 'as above',
    often: '60 times a minute',
    until: 'without end; a refused gateway asks again',
    by: ['src/adapters/redis/scripts/waiting.lua'],
  },
  {
    part: 'call',
    what: 'the same request over a new connection',
    on: 'a kept connection that broke',
    often: 'once, at once',
    until: 'the request’s own time',
    by: ['src/adapters/sandboxd-http/link.ts'],
  },
  {
    part: 'call',
    what: 'a call that was never sent',
    on: 'no connection in its time',
    often: 'taken back once, then from the beginning with its request',
    until: 'until the request’s time is over',
    by: ['src/calls/run-call.ts'],
  },
  {
    part: 'grade',
    what: 'a turn that failed',
    on: '`grader_failed`',
    often: 'three turns a rollout, each requested by the trainer',
    until: 'the rollout’s life',
    by: ['src/adapters/redis/scripts/grading.lua'],
  },
  {
    part: 'client',
    what: 'a request, under the same ids, so that it happens once',
    on: 'no answer, or an answer that is `retryable`',
    often: 'pauses from 0.2 to 5 s, or `retry-after` and up to a quarter more',
    until:
      '`patience_s` (`patienceS`), 900 s; 15 s for a gateway that was never reached; 30 s to finish or to cancel',
    by: ['clients/python/src/corral/exchange.py', 'clients/typescript/src/exchange.ts'],
  },
  {
    part: 'client',
    what: 'a call or a grade',
    on: 'it still runs: attached to, or asked for again',
    often: 'at once; each request is held',
    until: '3 h',
    by: ['clients/python/src/corral/session.py', 'clients/typescript/src/session.ts'],
  },
  {
    part: 'client',
    what: 'a stream of a followed command, from the byte where it ended',
    on: 'as a request; an end without `end` or `error`',
    often: 'as a request; after 0.2 s if only the time of its request was over',
    until: '`patience_s` (`patienceS`) after the last piece or sign of life',
    by: ['clients/python/src/corral/streaming.py', 'clients/typescript/src/streaming.ts'],
  },
  {
    part: 'client',
    what: 'a piece of stdin',
    on: 'as a request; a command that took none of it',
    often: 'as a request; after 0.2 s, and each request waits for the command to read',
    until: 'until the command takes it, or is over; 3 h at most',
    by: ['clients/python/src/corral/streaming.py', 'clients/typescript/src/streaming.ts'],
  },
  {
    part: 'client',
    what: 'a heartbeat',
    on: 'as a request',
    often: 'as a request',
    until: 'until the next one is due',
    by: ['clients/python/src/corral/heartbeat.py', 'clients/typescript/src/heartbeat.ts'],
  },
  {
    part: 'client',
    what: 'releasing at the end of the process',
    on: 'as a request',
    often: 'three times',
    until: '8 s in all',
    by: ['clients/python/src/corral/leaving.py', 'clients/typescript/src/leaving.ts'],
  },
  {
    part: 'fleet',
    what: 'a launch',
    on: 'its worker stopped',
    often: '10 times, after 200 ms',
    until: 'its start is over',
    by: ['src/adapters/bullmq/launch-queue.ts'],
  },
  {
    part: 'fleet',
    what: 'a command of BullMQ’s worker; the only automatic repeat of a Redis command',
    on: 'a Redis that cannot write',
    often: 'over each new connection',
    until: 'without end',
    by: ['src/adapters/bullmq/connection.ts'],
  },
  {
    part: 'fleet',
    what: 'starts of a template',
    on: 'ten in a row failed, or three for a reason that every sandbox shares',
    often: 'one probe every 30 s; after such three also when a rollout joins the queue',
    until: 'until one succeeds',
    by: ['src/adapters/redis/scripts/lib/breaker.lua'],
  },
  {
    part: 'fleet',
    what: 'a call of the Kubernetes API',
    on: '429 and 503; a connection that broke; 401, with credentials read again',
    often: 'after its `Retry-After` or a second, all calls together; once; once',
    until: '15 s',
    by: ['src/adapters/kubernetes/api/calls.ts'],
  },
  {
    part: 'fleet',
    what: 'a list of the Kubernetes API',
    on: 'one that expired while it was read',
    often: '3 times in all, at once',
    until: '15 s a page',
    by: ['src/adapters/kubernetes/watch/collection.ts'],
  },
  {
    part: 'fleet',
    what: 'a suspected sandbox',
    on: 'it does not answer',
    often: 'once a second',
    until: '10 s of silence; then it is lost',
    by: ['src/lifecycle/losses.ts'],
  },
  {
    part: 'fleet',
    what: 'a label or a removal of a pod',
    on: 'the controller that took it did not do it',
    often: '5 s later, by any',
    until: 'until it is done',
    by: ['src/adapters/redis/scripts/sandboxes.lua'],
  },
  {
    part: 'fleet',
    what: 'removing what an uninstalled fleet leaves',
    on: 'it is not gone yet',
    often: 'checked each second',
    until: '3 min, and three times more by its Job',
    by: ['cli/installation/sweep.ts'],
  },
];
