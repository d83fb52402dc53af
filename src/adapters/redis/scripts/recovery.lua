-- requires: call, ending, grant, line, outage, record, rollout, run, sandbox, verdict, wakeup
-- A Redis that may have forgotten: what sandboxes tell is written back, then it is made the fleet's.

-- Unguarded: it is what decides whether this Redis is the fleet's.
-- Makes this Redis the fleet's. `empty`: only if it holds no fleet; `persisted`: with whatever it has kept. Where something
-- was written back before, `writtenBackInto` says into which Redis: another one, that came meanwhile, has not got all of it.
unguarded('adopt', function(ask, _, redisRun)

  local function holdsFleet()
    return redis.call('EXISTS', key.leases, key.sandboxes, key.templates, key.waiters) > 0
  end

  if redis.call('GET', key.redis) == redisRun then return 'already' end
  if ask.writtenBackInto and ask.writtenBackInto ~= redisRun then return 'refused' end
  if ask.holding ~= 'persisted' and holdsFleet() then return 'refused' end
  redis.call('SET', key.redis, redisRun)
  if ask.holding == 'persisted' then
    redis.call('SET', key.recovered, nowMs, 'PX', Outage.unsureKeptMs)
    redis.call('PEXPIRE', key.unsure, Outage.unsureKeptMs)
    redis.call('PEXPIRE', key.nameless, Outage.unsureKeptMs)
  end
  return 'adopted'
end)

-- When this Redis was last made the fleet's by way of recovery.
script('adopted-at', function()
  return tonumber(redis.call('GET', key.recovered))
end)

-- Unguarded: it is asked before this Redis is the fleet's.
-- What a Redis that is not the fleet's still holds of sandboxes, and which Redis it is; nil where it is the fleet's.
unguarded('read-kept', function(_, _, redisRun)
  if redis.call('GET', key.redis) == redisRun then return nil end
  local rows = {}
  for _, sandbox in ipairs(redis.call('SMEMBERS', key.sandboxes)) do
    local phase, owner = unpack(redis.call('HMGET', key.sandbox .. sandbox, 'phase', 'owner'))
    rows[#rows + 1] = { sandbox = sandbox, phase = phase or nil, owner = owner or nil }
  end
  return { redis = redisRun, sandboxes = rows }
end)

-- Unguarded: it writes fleet state back before this Redis is the fleet's.
-- Rollouts whose sandbox is gone, says somebody who has seen them there: those without a record are not opened again. One
-- that was opened already, because another controller was quicker and had not seen it, stays so.
unguarded('mark-lost', function(ask)
  for _, id in ipairs(ask.rollouts) do
    if redis.call('EXISTS', key.rollout .. id) == 0 then redis.call('HSETNX', key.unsure, id, 'gone') end
  end
  redis.call('PEXPIRE', key.unsure, Outage.unsureKeptMs)
end)

-- Unguarded: it writes fleet state back before this Redis is the fleet's.
-- A sandbox of no known rollout: `ready` joins the warm pool, `unsure` is kept from everybody, `gone` is forgotten.
-- `rollout`: whose an unsure one is, where somebody knows.
-- Once the fleet is adopted only unsure ones are touched: a controller that is late decides nothing.
-- Replies with the rollout that is lost with one that is gone.
unguarded('restore-sandbox', function(ask, _, redisRun)
  local sandbox, template, verdict, rollout = ask.sandbox, ask.template, ask.verdict, ask.rollout
  local box = key.sandbox .. sandbox
  local phase, owner, unsureOwner = unpack(redis.call('HMGET', box, 'phase', 'owner', 'unsureOwner'))
  local adopted = redis.call('GET', key.redis) == redisRun
  local isSpare = phase == 'ready' and not owner

  local function list()
    Sandbox.enlist(sandbox, template)
    redis.call('HSET', box, 'template', template)
  end

  -- By its own word no rollout was ever bound to it, also not the one that was taken to be.
  local function joinPool()
    list()
    Sandbox.leaveStart(sandbox, template)
    redis.call('HDEL', box, 'unsureOwner')
    if unsureOwner then redis.call('HDEL', key.unsure, unsureOwner) end
    redis.call('ZREM', key.nameless, sandbox)
    redis.call('HSET', box, 'boot', ask.boot, 'address', ask.address, 'readyAtMs', nowMs)
    Sandbox.enterPhase(sandbox, 'ready')
    redis.call('ZADD', key.ready .. template, nowMs, sandbox)
    if adopted then Grant.serveLine(template) end
  end

  -- A start that does not answer may have been done, and the sandbox granted, in the second that a copy has missed. Its
  -- time as a start runs on: one that never answers must end.
  local function becomeUnsure()
    list()
    Sandbox.mayLack(template)
    redis.call('ZREM', key.ready .. template, sandbox)
    Sandbox.enterPhase(sandbox, 'unsure')
    local whose = rollout or unsureOwner
    if not whose then return redis.call('ZADD', key.nameless, nowMs + timing.unnamedSandboxMs, sandbox) end
    redis.call('ZREM', key.nameless, sandbox)
    redis.call('HSET', box, 'unsureOwner', whose)
    redis.call('HSET', key.unsure, whose, sandbox)
    if (Rollout.read(whose, 'state')) == 'waiting' then Line.leave(whose, template) end
  end

  -- Whose record says that nothing has run there yet: a copy may have missed that something was sent, and the sandbox cannot
  -- be asked. Until it answers, its rollout counts as begun: nobody moves it elsewhere as if nothing had run, and its loss is one.
  local function assumeBegun()
    local state, healing = Rollout.read(owner, 'state', 'healing')
    if state ~= 'claimed' or healing then return end
    Rollout.write(owner, 'dispatched', 1, 'state', 'active', 'activeAtMs', nowMs)
    redis.call('ZREM', key.grants, owner)
  end

  -- A copy may lack calls that its journal has. The rollout goes on; its grade waits until the journal is read.
  local function markUnread()
    if not owner or Rollout.isGrader(owner) then return end
    assumeBegun()
    redis.call('HSET', box, 'journalUnread', 1)
    Sandbox.moved(sandbox)
  end

  -- Nothing was ever bound to it in the life that was granted, so its journal is empty. Another life is a loss, which is not
  -- decided here.
  local function markRead()
    if redis.call('HGET', box, 'boot') ~= ask.boot then return end
    redis.call('HDEL', box, 'journalUnread')
    Sandbox.moved(sandbox)
  end

  local function forget()
    Sandbox.spend(sandbox)
    local itsTemplate = redis.call('HGET', box, 'template') or template
    Sandbox.leaveStart(sandbox, itsTemplate)
    Sandbox.mayLack(itsTemplate)
    redis.call('ZREM', key.ready .. itsTemplate, sandbox)
    redis.call('SREM', key.sandboxes, sandbox)
    redis.call('ZREM', key.nameless, sandbox)
    redis.call('DEL', box)
    Sandbox.moved(sandbox)
    if not unsureOwner then return nil end
    redis.call('HSET', key.unsure, unsureOwner, 'gone')
    -- To the copy it stood in line: whatever it had run is gone with its sandbox.
    local isWaiting = (Rollout.read(unsureOwner, 'state')) == 'waiting'
    return isWaiting and Ending.lose(unsureOwner, 'deleted', '{}', false) and Record.read(unsureOwner) or nil
  end

  if adopted and verdict == 'ready' and Sandbox.isUnread(sandbox) then markRead() end
  if adopted and phase ~= 'unsure' then return nil end
  if verdict == 'ready' and (not phase or phase == 'unsure') then
    joinPool()
  elseif verdict == 'unsure' and (not phase or phase == 'starting' or isSpare or (phase == 'unsure' and not adopted)) then
    becomeUnsure()
  elseif verdict == 'unsure' and phase == 'ready' and not adopted then
    markUnread()
  elseif verdict == 'gone' and (isSpare or phase == 'unsure') then
    return forget()
  end
  return nil
end)

-- Unguarded: it writes fleet state back before this Redis is the fleet's.
-- A sandbox tells of its rollout. Where Redis has forgotten the rollout, its record is made again; where it has kept it,
-- as a promoted replica does, what it missed is added: a call, or the swap to this very sandbox. What Redis still knows
-- to be over stays over, and what was told to be lost stays lost.
unguarded('restore-rollout', function(found, _, redisRun)
  local id, sandbox, label = found.id, found.sandbox, found.label
  local box = key.sandbox .. sandbox
  local lineage, attempt = Rollout.lineageOf(id)
  local boundAtMs = nowMs - math.max(0, label.hardLifeMs - found.expiresInMs)

  -- After the fleet is adopted, only sandboxes that did not answer before may add something: a late controller decides nothing.
  local phase, template = unpack(redis.call('HMGET', box, 'phase', 'template'))
  local adopted = redis.call('GET', key.redis) == redisRun
  if adopted and phase ~= 'unsure' and not Sandbox.isUnread(sandbox) then return 'late' end
  if phase == 'draining' then return 'given_up' end

  -- No grant: the sandbox has accepted this rollout, and its word is the last one (docs/decisions/first-bind-wins.md).
  local function takeSandbox()
    Sandbox.leaveStart(sandbox, template or found.template)
    Sandbox.mayLack(found.template)
    redis.call('ZREM', key.ready .. found.template, sandbox)
    Sandbox.enlist(sandbox, found.template)
    redis.call('SADD', key.held .. found.template, sandbox)
    redis.call('HSET', box, 'template', found.template, 'boot', found.boot, 'address', found.address, 'owner', id)
    redis.call('HDEL', box, 'unsureOwner', 'journalUnread')
    redis.call('ZREM', key.nameless, sandbox)
    Sandbox.enterPhase(sandbox, 'ready')
  end

  local function giveUp()
    Sandbox.drain(sandbox)
    return 'given_up'
  end

  local function enterWave()
    local group = Run.groupKey(id, label.itemKey)
    local current = tonumber(redis.call('HGET', group, 'wave') or 0)
    if current < label.wave then
      redis.call('HSET', group, 'wave', label.wave, 'startedMs', nowMs, 'open', 0, 'n', 0)
      redis.call('ZADD', key.groups .. Rollout.runOf(id), nowMs, label.itemKey)
      current = label.wave
    end
    if current == label.wave then
      redis.call('HINCRBY', group, 'open', 1)
      redis.call('HINCRBY', group, 'n', 1)
    end
    redis.call('HINCRBY', group, label.wave .. ':n', 1)
    redis.call('PEXPIRE', group, Rollout.keptForReportsMs)
  end

  local function create()
    local run = Rollout.runOf(id)
    local ordinal = redis.call('HINCRBY', key.run .. run, 'rollouts', 1)
    redis.call('HSETNX', key.run .. run, 'pin:' .. label.environment, label.version)
    redis.call('SADD', key.open .. run, id)
    redis.call('ZADD', key.rollouts .. run, ordinal, id)
    Rollout.write(id, unpack(found.kept))
    Rollout.write(id, 'calls', 0, 'placedAtMs', boundAtMs, 'hardEndMs', nowMs + found.expiresInMs, 'ordinal', ordinal,
      'generation', label.generation - 1, 'state', 'waiting')
    enterWave()
    Run.trim(run)
  end

  -- The sandbox is this rollout's, by its own word.
  local function holdSandbox(state, current)
    if current then Sandbox.drainOf(id, current) end
    if state == 'waiting' then Line.leave(id, label.template) end
    redis.call('HINCRBY', key.rollout .. id, 'generation', 1)
    Rollout.write(id, 'state', 'claimed', 'sandbox', sandbox, 'boot', found.boot, 'address', found.address, 'claimedAtMs', boundAtMs)
    redis.call('ZADD', key.grants, nowMs, id)
  end

  -- When a call that runs was to be over is forgotten; its sandbox knows, and is asked by then.
  local askedAgainMs = 30 * 1000

  -- A call that ran there is nobody's to run again. An answer that can still be had is fetched by whoever asks next; one
  -- whose bytes are gone was stored before they went, so somebody has it.
  local function addCall(call)
    local summary = Call.read(id, call.call)
    -- In an adopted fleet gateways and controllers settle the calls that are known.
    if summary and (adopted or Call.isSettled(summary)) then return end
    if not summary then
      summary = { call.tool, call.digest, nowMs, 1, 'yes', cjson.null, cjson.null, cjson.null, cjson.null, 0, 0, 0 }
      if call.counted then redis.call('HINCRBY', key.rollout .. id, 'calls', 1) end
    end
    if call.state == 'confirmed' then
      summary[6], summary[12] = 'completed', 1
      Call.countSettled(id, 'completed', false)
    end
    if call.state == 'running' then Call.callRuns(id, call.call, nowMs + askedAgainMs) else Call.callEnded(id, call.call) end
    Call.write(id, call.call, summary)
  end

  local function activate(state)
    Rollout.write(id, 'dispatched', 1)
    redis.call('ZREM', key.grants, id)
    if state == 'active' or state == 'grading' then return end
    Rollout.write(id, 'state', 'active', 'activeAtMs', boundAtMs)
  end

  local newest = Rollout.newestOf(lineage)
  local state, current, generation, dispatched, healing =
    Rollout.read(id, 'state', 'sandbox', 'generation', 'dispatched', 'healing')
  local verdict = Verdict.read(id)
  -- Something ran in another sandbox since: the rollout was opened again while this one did not answer. Neither has all
  -- of its state, so it is lost, through the one door; then this one is told of again.
  local ranInBoth = current and current ~= sandbox and dispatched and found.dispatched
  if adopted and ranInBoth and Rollout.isOpen(state) and verdict == 'open' then return 'two_lives' end
  local toldLost = not state and redis.call('HGET', key.unsure, id) == 'gone'
  takeSandbox()
  if toldLost then return giveUp() end
  redis.call('HDEL', key.unsure, id)
  if newest > attempt or verdict == 'discarded' or verdict == 'broken' or (state and not Rollout.isOpen(state)) then return giveUp() end
  if newest < attempt then
    local lower = string.gsub(id, '/%d+/([^/]+)$', '/' .. newest .. '/%1')
    if Rollout.isOpen((Rollout.read(lower, 'state'))) then Ending.close(lower, 'closed', 'superseded') end
    redis.call('SET', key.newest .. lineage, attempt)
  end

  -- Set-up was replayed there, perhaps in part: its journal cannot tell how far. Only a record that says so is believed.
  local isHealed = current == sandbox and not healing and (state == 'active' or state == 'grading')
  if label.heals and not isHealed then
    Sandbox.drain(sandbox)
    if not state then
      redis.call('HSET', key.unsure, id, 'gone')
      redis.call('PEXPIRE', key.unsure, Outage.unsureKeptMs)
      return 'given_up'
    end
    local evidence = cjson.encode({ replay = 'how much of its set-up was replayed is unknown' })
    return Ending.lose(id, 'pod_replaced', evidence, false, nil, true) and { lost = Record.read(id) } or 'given_up'
  end

  if not state then
    create()
    holdSandbox()
  elseif current ~= sandbox then
    -- What had run in another sandbox cannot have moved here; else whoever has run something, or was granted last.
    local isNewer = found.dispatched or label.generation > tonumber(generation)
    if dispatched or not isNewer then return giveUp() end
    holdSandbox(state, current)
  end
  for _, call in ipairs(found.calls) do addCall(call) end
  if found.dispatched then activate((Rollout.read(id, 'state'))) end
  Rollout.leaseUntil(id, nowMs + label.idleMs, (Rollout.read(id, 'hardEndMs')))
  Run.renew(Rollout.runOf(id), label.face)
  Wakeup.restored(id)
  return 'live'
end)
