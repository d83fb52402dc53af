import type { FleetAnswer } from '#src/protocol/native/fleet.ts';
import { useLive } from '../ui/api.ts';
import { Card, Reading, Trouble } from '../ui/parts.tsx';
import { bytes, count, span, whole } from '../ui/text.ts';
import { FleetHistory } from './fleet-history.tsx';

const everyMs = 1_000;

export function Fleet() {
  const { answer, error } = useLive<FleetAnswer>('/api/fleet', everyMs);
  return (
    <>
      <h1>Fleet</h1>
      {error !== null && <Trouble error={error} isStale={answer !== null} />}
      {answer === null ? error === null && <Reading what="the fleet" /> : <FleetPage fleet={answer} />}
    </>
  );
}

function FleetPage({ fleet }: { readonly fleet: FleetAnswer }) {
  const { waiting, sandboxes, rollouts, verdicts } = fleet;
  const stopped = fleet.templates.filter(({ breaker }) => breaker !== 'closed');
  return (
    <>
      <p class="facts">
        <b>{count(rollouts.open, 'open rollout')}</b>
        <span>{count(rollouts.calls_running, 'running call')}</span>
        <span>
          {whole(sandboxes.all)} sandboxes, {whole(sandboxes.starting)} starting
        </span>
        <span>
          {whole(waiting.rollouts)} waiting
          {waiting.oldest_ms !== null && `, the oldest for ${span(waiting.oldest_ms)}`}
        </span>
        <span>read {span(fleet.age_ms)} ago</span>
      </p>
      {stopped.map((template) => (
        <p key={template.template} class="banner" role="alert">
          Starts of <code>{template.environment ?? template.template}</code> fail
          {template.last_failure !== null && (
            <>
              {' with '}
              <code>{template.last_failure.code}</code>
            </>
          )}
          . The fleet tries one at a time.
        </p>
      ))}
      <FleetHistory />
      <div class="charts">
        <Card title="Verdicts" aside={`the last ${span(verdicts.of_ms)}`}>
          <p>
            {whole(verdicts.scorable)} scorable,{' '}
            <span class={verdicts.discarded > 0 ? 'bad' : ''}>{whole(verdicts.discarded)} discarded</span>
          </p>
          <ul>
            {Object.entries(verdicts.codes).map(([code, times]) => (
              <li key={code}>
                <code>{code}</code> {whole(times)}
              </li>
            ))}
          </ul>
        </Card>
        <Card title="Redis">
          <p>
            {bytes(fleet.redis.used_bytes)}
            {fleet.redis.limit_bytes !== null && ` of ${bytes(fleet.redis.limit_bytes)}`}
          </p>
        </Card>
        <Pools fleet={fleet} />
        <Processes fleet={fleet} />
      </div>
    </>
  );
}

const Pools = ({ fleet: { templates } }: { readonly fleet: FleetAnswer }) => (
  <Card title="Pools" wide>
    {templates.length === 0 ? (
      <p class="empty">No pool is in use.</p>
    ) : (
      <div class="wide-table" tabIndex={0} role="region" aria-label="Pools">
        <table class="plain">
          <thead>
            <tr>
              <th>environment</th>
              <th class="num">ready</th>
              <th class="num">starting</th>
              <th class="num">held</th>
              <th class="num">waiting</th>
            </tr>
          </thead>
          <tbody>
            {templates.map((one) => (
              <tr key={one.template}>
                <td class="mono">{one.environment ?? one.template.slice(0, 12)}</td>
                <td class="num">{whole(one.ready)}</td>
                <td class="num">{whole(one.starting)}</td>
                <td class="num">{whole(one.held)}</td>
                <td class="num">{whole(one.waiting)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    )}
  </Card>
);

const Processes = ({ fleet: { processes } }: { readonly fleet: FleetAnswer }) => (
  <Card title="Processes" wide>
    <ul>
      {processes.map((process) => (
        <li key={`${process.kind} ${process.host} ${process.pid}`}>
          {process.kind} <code>{process.host ?? ''}</code>{' '}
          <span class={process.state === 'silent' ? 'bad' : 'quiet'}>
            {process.state}, version {process.version}, {span(process.age_ms)} old
          </span>
        </li>
      ))}
    </ul>
  </Card>
);
