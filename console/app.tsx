import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { SessionAnswer } from '#src/protocol/console/session.ts';
import { Compare } from './screens/compare.tsx';
import { Fleet } from './screens/fleet.tsx';
import { Help } from './screens/help.tsx';
import { Login, logIn } from './screens/login.tsx';
import { Rollout } from './screens/rollout.tsx';
import { Run } from './screens/run.tsx';
import { Runs } from './screens/runs.tsx';
import { ApiError, ask } from './ui/api.ts';
import { useKeys } from './ui/keys.ts';
import { Reading } from './ui/parts.tsx';
import { addressOf, go, linkTo, type Route, useRoute } from './ui/route.ts';

export function App() {
  const route = useRoute();
  const { session, setSession, isAsked, reason } = useSession();
  useSectionKeys();
  if (!isAsked) return <Reading what="who is logged in" />;
  if (session === null)
    return (
      <main>
        <Login reason={reason} onLogin={setSession} />
      </main>
    );
  return (
    <>
      <Bar route={route} session={session} onLogout={() => setSession(null)} />
      <main>{screenOf(route)}</main>
    </>
  );
}

/** Asked once; a code in the address, as `corral up` prints it, logs in first and leaves the address. */
function useSession() {
  const [session, setSession] = useState<SessionAnswer | null>(null);
  const [isAsked, setAsked] = useState(false);
  const [reason, setReason] = useState<string | null>(null);
  useEffect(() => {
    const code = /^#code=([a-z0-9]{1,100})$/.exec(location.hash)?.[1];
    if (code !== undefined) go('/', true);
    const first = code === undefined ? ask<SessionAnswer>('/api/session') : logIn({ code });
    first
      .then(setSession)
      // Without a session a page asks for a key, and shows nothing else.
      .catch((thrown: unknown) => {
        if (thrown instanceof ApiError && (code !== undefined || thrown.status !== 401))
          setReason(thrown.message);
      })
      .finally(() => setAsked(true));
  }, []);
  return { session, setSession, isAsked, reason };
}

function screenOf({ path, query }: Route): ComponentChildren {
  const [section, run, part, id] = path;
  if (section === undefined) return <Runs query={query} />;
  if (section === 'fleet' && path.length === 1) return <Fleet />;
  if (section === 'runs' && run !== undefined && path.length === 2) return <Run run={run} query={query} />;
  if (section === 'runs' && run !== undefined && part === 'compare' && path.length === 3)
    return <Compare run={run} query={query} />;
  if (section === 'runs' && run !== undefined && part === 'rollouts' && id !== undefined)
    return <Rollout run={run} id={id} query={query} />;
  return <p class="empty">There is no such page.</p>;
}

function Bar({
  route,
  session,
  onLogout,
}: {
  readonly route: Route;
  readonly session: SessionAnswer;
  readonly onLogout: () => void;
}) {
  const isFleet = route.path[0] === 'fleet';
  const logOut = async (): Promise<void> => {
    await ask('/session', { method: 'DELETE' }).catch(() => null);
    onLogout();
  };
  return (
    <header class="bar">
      <a class="brand" {...linkTo('/')}>
        Corral
      </a>
      <nav aria-label="Sections">
        <a {...linkTo('/')} aria-current={isFleet ? undefined : 'page'}>
          Runs
        </a>
        <a {...linkTo(addressOf(['fleet']))} aria-current={isFleet ? 'page' : undefined}>
          Fleet
        </a>
      </nav>
      <span class="quiet who">
        tenant <code>{session.tenant}</code>, key <code>{session.key}</code>
      </span>
      <Help />
      <button type="button" onClick={() => void logOut()}>
        Log out
      </button>
    </header>
  );
}

/** `g r` and `g f`. */
function useSectionKeys(): void {
  const before = useRef('');
  useKeys(({ key }) => {
    if (before.current === 'g' && key === 'r') go('/');
    if (before.current === 'g' && key === 'f') go('/fleet');
    before.current = key;
  });
}
