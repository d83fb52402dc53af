-- requires: breaker, ending, grant, record, rollout, sandbox, setup, verdict, wakeup
-- Sandboxes as controllers see them: which there are, what has moved, and how each leaves.

-- Every sandbox of the fleet, or those that are named, as far as they are known.
reading('known-sandboxes', function(ask)
  local rows = {}
  for _, sandbox in ipairs(ask.sandboxes or redis.call('SMEMBERS', key.sandboxes)) do
    local row = Sandbox.knownRow(sandbox)
    if row.phase then rows[#rows + 1] = row end
  end
  return rows
end)

-- What has moved since a place, and a portion of all sandboxes in turn: an earlier version tells no moves.
-- `place`: the one that the last reading gave, or empty; the portion may be 0. A place of another Redis, of one that was written back
-- since, or too long ago begins again: who reads on from here to the end of the turn has seen all.
reading('moved-sandboxes', function(ask, _, redisRun)
  local atOnce = 500 -- moves of one script: a millisecond

  local last, beganMs, floor = unpack(redis.call('HMGET', key.moves, 'last', 'beganMs', 'floor'))
  last = tonumber(last or 0)
  local life = redisRun .. ' ' .. (redis.call('GET', key.recovered) or '-') .. ' ' .. (beganMs or '-')

  local itsLife, number, cursor = string.match(ask.place, '^(.+) (%d+) (%d+)$')
  number = tonumber(number)
  local startsOver = itsLife ~= life or number < tonumber(floor or 0) or number > last
  if startsOver then number, cursor = last, '0' end

  local rows, isBehind = {}, false
  local since = redis.call('ZRANGEBYSCORE', key.moved, '(' .. number, '+inf', 'WITHSCORES', 'LIMIT', 0, atOnce)
  for index = 1, #since, 2 do rows[#rows + 1] = Sandbox.knownRow(since[index]) end
  if #since == 2 * atOnce then number, isBehind = tonumber(since[#since]), true else number = last end

  local isWhole = false
  if ask.portion > 0 then
    local walked
    cursor, walked = unpack(redis.call('SSCAN', key.sandboxes, cursor, 'COUNT', ask.portion))
    for _, sandbox in ipairs(walked) do rows[#rows + 1] = Sandbox.knownRow(sandbox) end
    isWhole = cursor == '0'
  end
  return {
    place = life .. ' ' .. string.format('%.0f', number) .. ' ' .. cursor,
    startsOver = startsOver, isWhole = isWhole, isBehind = isBehind, sandboxes = rows,
  }
end)

-- Of these sandboxes, those for which nobody was given this errand in the last seconds; whoever asks now is given it. Several
-- controllers see the same work at the same moment; by the time another may take it, the provider shows that it is done.
script('take-errands', function(ask)
  local errand = ask.errand
  local takenForMs = 5 * 1000
  local given = {}
  for _, sandbox in ipairs(ask.sandboxes) do
    local box = key.sandbox .. sandbox
    local phase, takenMs = unpack(redis.call('HMGET', box, 'phase', errand))
    if not takenMs or nowMs - takenMs >= takenForMs then
      -- One that is forgotten has nothing to be written on.
      if phase then redis.call('HSET', box, errand, nowMs) end
      given[#given + 1] = sandbox
    end
  end
  return given
end)

-- Sandboxes to destroy, the longest waiting first.
script('draining', function(ask)
  return redis.call('ZRANGE', key.draining, '-inf', '+inf', 'BYSCORE', 'LIMIT', 0, ask.limit)
end)

-- The provider no longer has the sandbox. One that a rollout still holds stays: its loss goes through the one door first.
script('forget', function(ask)
  local sandbox = ask.sandbox
  Breaker.failStart(sandbox, 'start_failed', 'the provider lost the sandbox while it was starting', '')
  local template, phase, owner = unpack(redis.call('HMGET', key.sandbox .. sandbox, 'template', 'phase', 'owner'))
  if not template or (phase == 'ready' and owner) then return end
  Sandbox.spend(sandbox)
  redis.call('ZREM', key.ready .. template, sandbox)
  redis.call('ZREM', key.draining, sandbox)
  redis.call('SREM', key.sandboxes, sandbox)
  redis.call('DEL', key.sandbox .. sandbox)
  Sandbox.moved(sandbox)
end)

-- A sandbox that will not stay where it is gets no new rollout: to draining, if it is nobody's. One that still starts is
-- given up here, because it may become ready, and be granted, before whoever starts it hears of this.
script('withdraw-sandbox', function(ask)
  local sandbox = ask.sandbox
  local phase, owner = unpack(redis.call('HMGET', key.sandbox .. sandbox, 'phase', 'owner'))
  if phase == 'starting' then return Breaker.failStart(sandbox, 'provider_unavailable', ask.why, '') end
  if phase ~= 'ready' or owner then return false end
  Sandbox.drain(sandbox)
  return true
end)

-- Every lost sandbox is reported here (a loss without a sandbox: `Ending.lose`). Before its rollout's first dispatch it is swapped
-- silently. Between two calls of set-up, before the first other call, it is swapped too, and set-up is replayed in the next sandbox.
-- After that call the rollout is discarded for good. `brokenReason`: the calls of the rollout caused this loss, by `brokenBy` in
-- failure/codes.ts. Programs that they left in the background can cause it as well, so it does not matter whether a call is in flight.
script('lose', function(ask, _, redisRun)
  local sandbox, cause, evidence, brokenReason = ask.sandbox, ask.cause, ask.evidence, ask.brokenReason
  local phase, currentBoot, id = unpack(redis.call('HMGET', key.sandbox .. sandbox, 'phase', 'boot', 'owner'))

  -- Already known, another life, or still starting: then its launcher sees it fail and says so.
  local function isNews()
    return phase == 'ready' and (not ask.boot or ask.boot == currentBoot)
  end

  if not isNews() then return { kind = 'none' } end
  if not id then
    Sandbox.drain(sandbox)
    return { kind = 'none' }
  end

  local state, dispatched, setup, healing = Rollout.read(id, 'state', 'dispatched', 'setup', 'healing')
  local verdict = Verdict.read(id)
  -- What the policy left behind reached the limit of a second grader's sandbox: no third one is to be broken by it. Once may be
  -- chance, and is no proof against the policy.
  if state == 'claimed' and Rollout.isGrader(id) and brokenReason and Rollout.read(id, 'swapReason') == cause then
    Rollout.write(id, 'broken', brokenReason)
    Sandbox.drain(sandbox)
    Wakeup.decided(id)
    return { kind = 'none' }
  end

  -- One that was lost again while its set-up was replayed heals again.
  local mayHeal = setup and state == (healing and 'claimed' or 'active') and not brokenReason and not Setup.obstacle(id, redisRun)
  local isUnused = not healing and (state == 'claimed' or (state == 'active' and not dispatched))
  if verdict == 'open' and (isUnused or mayHeal) then
    if mayHeal then Setup.heal(id, healing or cause) end
    Rollout.write(id, 'swapReason', cause, 'swapEvidence', evidence, 'atHead', 1)
    Grant.swapToHead(id)
    return { kind = 'swapped', rollout = Record.read(id) }
  end
  -- What its grader looks at is elsewhere. Should that turn end without a score, the loss is found again, and then it is one.
  local takenTurn, turn, gradeUntilMs = Rollout.read(id, 'takenTurn', 'gradeTurn', 'gradeUntilMs')
  local isSpared = takenTurn and takenTurn == turn and tonumber(gradeUntilMs or 0) > nowMs
  local isUndecided = verdict == 'open' or verdict == 'broken'
  if state == 'grading' and isSpared and isUndecided then return { kind = 'none' } end
  -- What only set-up has broken was no deed of the policy's, unless its trainer has marked calls of the policy.
  local isSetupsDoing = brokenReason and dispatched == 'setup'
  if brokenReason and dispatched and not isSetupsDoing then
    if Ending.breakRollout(id, brokenReason) then return { kind = 'broken', rollout = Record.read(id) } end
  elseif Ending.lose(id, cause, evidence, false, isSetupsDoing and 'command' or nil, ask.bySandbox) then
    return { kind = 'tainted', rollout = Record.read(id) }
  end
  -- Nothing is left to lose once the verdict stands.
  Sandbox.drain(sandbox)
  return { kind = 'none' }
end)
