import { lines, type Row, stacked, stat } from './definition.ts';
import { inAll, newest, one, perSecond, quantile, series, share, shareOf, sum } from './queries.ts';

// The lower rows of the machinery dashboard: what gateways and controllers depend on.

/** Redis, which holds the fleet's state, and the event log. */
export const redis: Row = {
  title: 'Redis and the event log',
  panels: [
    lines('Redis command duration', 'seconds', {
      columns: 5,
      reading: '99 of 100 commands, as each kind of process sees them.',
      todo: 'Its CPU, its disk (`appendfsync`), or the network between. One kind of process: that one’s own CPU.',
      limits: {
        below: 'green',
        steps: [
          { from: 0.01, colour: 'yellow', because: 'a call needs a handful of commands' },
          { from: 0.1, colour: 'red', because: 'every call is visibly slower, and leases are renewed late' },
        ],
      },
      queries: one(quantile(0.99, 'corral_redis_command_seconds', ['component']), '{{component}}'),
    }),
    lines('Redis memory usage', 'share', {
      columns: 5,
      reading: 'Its memory, of `maxmemory`. Without a `maxmemory` there is nothing to see.',
      todo: 'Raise `maxmemory`, or lower `gateway.maxTenantRowBytes`. Full, it refuses writes: all requests are held.',
      limits: {
        below: 'green',
        steps: [
          { from: 0.7, colour: 'yellow', because: 'a burst of large dataset rows is a tenth' },
          { from: 0.9, colour: 'red', because: 'writes are refused soon' },
        ],
      },
      needs: 'event',
      queries: one(
        share(
          newest([], series('corral_redis_memory_bytes', 'kind="used"')),
          newest([], series('corral_redis_memory_bytes', 'kind="limit"')),
        ),
        '{{fleet}}',
      ),
    }),
    stat('Redis keeps all keys', 'yesNo', {
      columns: 4,
      rows: 8,
      reading: 'Its `maxmemory-policy` is `noeviction`.',
      todo: 'Set it: any other policy may forget rollouts when memory is short.',
      limits: {
        below: 'red',
        steps: [{ from: 1, colour: 'green', because: 'a rollout that is forgotten is lost' }],
      },
      queries: one(`min (${series('corral_redis_policy_ok')})`),
    }),
    stat('Events lost', 'count', {
      columns: 4,
      rows: 8,
      reading:
        'Lines of the event log that found no room, in the time that is looked at. Counts and verdicts are right nevertheless.',
      todo: 'The disk is full or slow: `eventLog.maxBytes`, `eventLog.sizeLimit`, or send it to stdout. Their stories are gone.',
      limits: {
        below: 'green',
        steps: [{ from: 1, colour: 'yellow', because: 'each is missing in a rollout’s timeline' }],
      },
      queries: one(sum([], inAll('corral_events_dropped_total'))),
    }),
    lines('Log retention', 'seconds', {
      columns: 6,
      reading:
        'Age at which a full log removes its oldest lines, at the rate of the last hour. The maximum is 14 days.',
      todo: 'Raise `eventLog.maxBytes`, or keep less: [bytes for each load](event-log.md#how-long-a-log-lasts).',
      limits: {
        below: 'red',
        steps: [
          { from: 86_400, colour: 'yellow', because: 'last night’s run may be gone' },
          { from: 604_800, colour: 'green', because: 'a run stays for a week' },
        ],
      },
      needs: 'event',
      queries: one(
        `min by (log) (${share(series('corral_event_log_limit_bytes'), `rate(${series('corral_event_log_written_bytes_total')}[1h])`)})`,
        '{{log}}',
      ),
    }),
  ],
};

const apiCalls = 'corral_kubernetes_calls_total';
/** Where sandboxes come from, and who may reach them. */
export const kubernetes: Row = {
  title: 'Kubernetes API and keys',
  panels: [
    stacked('API server answers by code', 'perSecond', {
      columns: 8,
      reading: 'Calls of the Kubernetes API by code.',
      todo: '401, 403: the account or its role. 409: another process was first. 429: the API server defends itself.',
      limits: { none: 'see the panel next to it' },
      needs: 'cluster',
      queries: one(`${sum(['code'], perSecond(apiCalls))} > 0`, '{{code}}'),
    }),
    lines('API calls refused', 'share', {
      columns: 8,
      reading: 'The share of all calls that ended in 401, 403, 429, 5xx, or without an answer.',
      todo: 'Launches and removals wait; running rollouts are not affected. Check the API server, the fleet’s quota, and the role.',
      limits: {
        below: 'green',
        steps: [
          { from: 0.05, colour: 'yellow', because: 'a watch that ends now and then stays below it' },
          { from: 0.2, colour: 'red', because: 'one in five: nothing starts in time any more' },
        ],
      },
      needs: 'cluster',
      queries: one(
        shareOf(perSecond, apiCalls, [], {
          part: ['code=~"401|403|429|5..|[a-z_]+"'],
          ofAll: [],
        }),
      ),
    }),
    lines('API call duration', 'seconds', {
      columns: 8,
      reading: '99 of 100 calls, by verb and resource; watches left out.',
      todo: 'The API server or its etcd; its own dashboards say which.',
      limits: {
        below: 'green',
        steps: [
          { from: 1, colour: 'yellow', because: 'Kubernetes’ own objective for such calls is a second' },
          { from: 5, colour: 'red', because: 'calls fail after ten seconds' },
        ],
      },
      needs: 'cluster',
      queries: one(
        quantile(0.99, 'corral_kubernetes_call_duration_seconds', ['verb', 'resource']),
        '{{verb}} {{resource}}',
      ),
    }),
    stat('Sandboxes that refuse the fleet key', 'count', {
      columns: 8,
      reading: 'Answers of sandboxes that refused a gateway’s token, since its start.',
      todo: 'A key was not rotated in [its three steps](keys.md#fleet-key): give both keys to all, the sandboxes’ first.',
      limits: {
        below: 'green',
        steps: [{ from: 1, colour: 'red', because: 'each is a call that cannot be made' }],
      },
      queries: one(sum([], series('corral_gateway_key_refusals'))),
    }),
    stat('Sandboxes whose rollout is not written yet', 'count', {
      columns: 8,
      reading: 'Sandboxes of a rollout that are not yet seen with its name where a new Redis would find it.',
      todo: 'Seconds are normal. Longer: writes are refused, see the panels above; if Redis were lost now, so were these rollouts.',
      limits: {
        below: 'green',
        steps: [
          { from: 200, colour: 'yellow', because: 'fifty claims a second have as many within four seconds' },
        ],
      },
      needs: 'cluster',
      queries: one(`max (${series('corral_unlabelled_owners')})`),
    }),
    stat('Environments in trouble', 'count', {
      columns: 8,
      reading: 'Processes that cannot use the newest environments and go on with older ones.',
      todo: 'Their log names the file and the line. New rollouts get the version that worked.',
      limits: {
        below: 'green',
        steps: [{ from: 1, colour: 'yellow', because: 'what was deployed is not what runs' }],
      },
      queries: one(sum([], series('corral_environments_trouble'))),
    }),
  ],
};
