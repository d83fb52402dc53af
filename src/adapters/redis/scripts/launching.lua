-- requires: breaker, grant, line, pool, rollout, sandbox
-- From what is lacking to a sandbox that is ready: plans of controllers, tickets, and ends of starts.

-- A plan of thousands is some hundred KB, and a burst of rows with images of their own makes another each second. Who names
-- one that is not there any more tells it again.
local planKeptMs = 60 * 1000

-- What controllers want of each template, under the digest of all of it: a reservation names that and not thousands of them.
-- By a new one a pool may lack what by the one before it did not. A target is the text that `reserve` reads.
script('keep-plan', function(ask)
  local plan = key.plan .. ask.plan
  redis.call('HSET', plan, '', '') -- an empty one is there, too
  for _, each in ipairs(ask.targets) do
    local template, target = each.template, each.target
    redis.call('HSET', plan, template, target)
    local minReady = tonumber(string.match(target, '^%d+'))
    local coming = redis.call('ZCARD', key.ready .. template) + redis.call('SCARD', key.starting .. template)
    if coming < minReady then Sandbox.mayLack(template) end
  end
  redis.call('PEXPIRE', plan, planKeptMs)
end)

-- How many sandboxes are being started, and the templates that may have more to start: those whose pool may lack something,
-- and those that somebody in line waits for.
script('demand', function()
  local names, there = redis.call('SMEMBERS', key.lacking), {}
  for _, template in ipairs(names) do there[template] = true end

  Line.firstInLine(function(template)
    if not there[template] then names[#names + 1] = template end
    there[template] = true
    return false -- all of them
  end)
  return { starting = redis.call('ZCARD', key.starts), templates = names }
end)

-- Pools of these templates lack something, says a controller that has counted all of them.
script('look-at', function(ask)
  for _, template in ipairs(ask.templates) do Sandbox.mayLack(template) end
end)

-- What the holder of a blank ticket starts: for waiting rollouts first, round-robin over runs and over each run's
-- templates; then refill up to the target or what is announced, the emptiest pool first. Starts under way count as there,
-- so nobody is started for twice.
-- `slots`: for templates that rows and demands made (model/pull-slots.ts: of one until a sandbox of it stands, of one after that, of
-- all that none stands of). In the plan each template has its minReady, max, the environment version that it was chosen for, or `-`,
-- the group that shares the max, or `-` if it is alone in it, and the environment that it costs.
script('reserve', function(ask)
  local ticket, sandbox, slots, plan = ask.ticket, ask.sandbox, ask.slots, ask.plan
  if redis.call('PEXPIRE', key.plan .. plan, planKeptMs) == 0 then return { kind = 'no_plan' } end

  local targets = {}
  local function targetOf(template)
    if targets[template] == nil then
      local minReady, max, version, group, environment =
        string.match(redis.call('HGET', key.plan .. plan, template) or '', '^(%d+) (%d+) (%S+) (%S+) (%S+)$')
      targets[template] = minReady and {
        minReady = tonumber(minReady), max = tonumber(max), isChosen = version ~= '-', group = group ~= '-' and group,
        environment = environment,
      } or false
    end
    return targets[template]
  end

  local function sizes(template)
    return redis.call('ZCARD', key.ready .. template), redis.call('SCARD', key.starting .. template),
      redis.call('SCARD', key.held .. template)
  end

  local function isChosen(template)
    local target = targetOf(template)
    return target and target.isChosen
  end

  -- The templates of a group that have waiting rollouts or sandboxes; looked for once, and only if it matters.
  local groups = {}
  local function membersOf(group)
    if groups[group] then return groups[group] end
    local members = {}
    for _, template in ipairs(redis.call('SMEMBERS', key.templates)) do
      local target = targetOf(template)
      if target and target.group == group then members[#members + 1] = template end
    end
    table.sort(members)
    groups[group] = members
    return members
  end

  local function sandboxesOf(template)
    local ready, starting, held = sizes(template)
    return ready + starting + held
  end

  local function isFull(template)
    local target = targetOf(template)
    if not target.group then return sandboxesOf(template) >= target.max end
    if redis.call('SCARD', key.sandboxes) < target.max then return false end
    local sum = 0
    for _, member in ipairs(membersOf(target.group)) do sum = sum + sandboxesOf(member) end
    return sum >= target.max
  end

  local function othersInGroup(template)
    local group, others = targetOf(template).group, {}
    for _, member in ipairs(group and membersOf(group) or {}) do
      if member ~= template then others[#others + 1] = member end
    end
    return others
  end

  -- No rollout waits for it, and no announced burst will.
  local function isSpare(template)
    return Line.countGrantable(template) == 0 and redis.call('ZCARD', key.ready .. template) > Pool.announcedOf(template)
  end

  -- The oldest idle sandbox of the same group: it gives way to one of another template that a rollout waits for.
  local function idleBeside(template)
    local found, since = nil, math.huge
    for _, other in ipairs(othersInGroup(template)) do
      local oldest = redis.call('ZRANGE', key.ready .. other, 0, 0, 'WITHSCORES')
      local sinceMs = tonumber(oldest[2])
      if sinceMs and sinceMs < since and isSpare(other) then found, since = oldest[1], sinceMs end
    end
    return found
  end

  -- No machine had room for its last start. Idle sandboxes of its group may have taken that room.
  local noRoomForMs = 60 * 1000
  local function foundNoRoom(template)
    local code, atMs = unpack(redis.call('HMGET', key.breaker .. template, 'code', 'atMs'))
    return code == 'unschedulable' and nowMs - atMs <= noRoomForMs
  end

  -- A refill would take the room that idle sandboxes of its group have just given up.
  local function takesRoom(template)
    for _, other in ipairs(othersInGroup(template)) do
      if Line.countGrantable(other) > 0 and foundNoRoom(other) then return true end
    end
    return false
  end

  local unproven
  local function mayPull(template)
    local isProven = Sandbox.standing(template) > 0
    local most = isProven and slots.later or slots.first
    if redis.call('SCARD', key.starting .. template) >= most then return false end
    if isProven then return true end
    unproven = unproven or Pool.unprovenStarts(isChosen)
    return unproven < slots.unproven
  end

  local function mayStart(template)
    return (not isChosen(template) or mayPull(template)) and Breaker.mayStart(template)
  end

  -- A template without target is one that this controller cannot create.
  local function isWaitedFor(template)
    local starting = redis.call('SCARD', key.starting .. template)
    if not targetOf(template) or starting >= Line.countGrantable(template) or not mayStart(template) then return false end
    return not isFull(template) or idleBeside(template) ~= nil
  end

  local function makeRoom(template)
    if not isFull(template) and not foundNoRoom(template) then return end
    local idle = idleBeside(template)
    if idle then Sandbox.drain(idle) end
  end

  -- Those of whom one waits are few, and in the order in which they came.
  local function firstGrader()
    for _, id in ipairs(redis.call('ZRANGE', key.graderWaiters, 0, 99)) do
      local template = Rollout.read(id, 'template')
      if template and isWaitedFor(template) then return template, Rollout.runOf(id) end
    end
  end

  local function nextWaitedFor()
    local template, run = firstGrader()
    if not template then template, run = Line.firstInLine(isWaitedFor) end
    if not template then return nil end
    Line.passTurn(key.launchRuns, run)
    Line.passTurn(key.launchTemplates .. run, template)
    makeRoom(template)
    return template, 'waiting', run
  end

  -- The share of its target that a pool has, counting starts that no waiting rollout will take.
  local function fullness(template, minReady)
    local ready, starting = sizes(template)
    local spare = math.max(0, starting - redis.call('ZCARD', key.grantable .. template))
    return (ready + spare) / minReady
  end

  -- By name where two are as empty, so that what is started first does not depend on how Redis keeps a set.
  local function lacking()
    local names = redis.call('SMEMBERS', key.lacking)
    table.sort(names)
    return names
  end

  local function emptiest()
    local found, lowest, reason = nil, 1, nil
    for _, template in ipairs(lacking()) do
      local target = targetOf(template)
      if target then
        local announced = Pool.announcedOf(template)
        local minReady = math.min(target.max, math.max(target.minReady, announced))
        local full = minReady > 0 and fullness(template, minReady) or 1
        if full >= 1 then redis.call('SREM', key.lacking, template) end
        if full < lowest and mayStart(template) and not isFull(template) and not takesRoom(template) then
          found, lowest, reason = template, full, announced > target.minReady and 'announced' or 'refill'
        end
      end
    end
    return found, reason, ''
  end

  local function started(name, template, reason, run)
    return { kind = 'start', sandbox = name, template = template, reason = reason, run = run ~= '' and run or nil }
  end

  -- Why, and for which run, is only told to whoever looks: who gets the sandbox is decided when it is ready.
  local function start(template, reason, run)
    redis.call('HSET', key.sandbox .. sandbox, 'template', template, 'phase', 'starting', 'sinceMs', nowMs, 'ticket', ticket,
      'reason', reason, 'run', run, 'environment', targetOf(template).environment)
    redis.call('ZADD', key.starts, nowMs + ask.startTimeoutMs, sandbox)
    redis.call('SADD', key.starting .. template, sandbox)
    redis.call('SADD', key.sandboxes, sandbox)
    redis.call('SADD', key.templates, template)
    redis.call('SET', key.ticket .. ticket, sandbox, 'PX', ask.startTimeoutMs)
    Sandbox.moved(sandbox)
    Breaker.noteStart(template, sandbox)
    return started(sandbox, template, reason, run)
  end

  -- A ticket that comes again gets its start again while that is under way; once it is over, the ticket is used.
  local earlier = redis.call('GET', key.ticket .. ticket)
  if earlier then
    local phase, template, reason, run =
      unpack(redis.call('HMGET', key.sandbox .. earlier, 'phase', 'template', 'reason', 'run'))
    return phase == 'starting' and started(earlier, template, reason or 'refill', run or '') or { kind = 'none' }
  end
  if redis.call('EXISTS', key.sandbox .. sandbox) == 1 then return { kind = 'none' } end
  if redis.call('ZCARD', key.starts) >= ask.startBudget then return { kind = 'none' } end

  local template, reason, run = nextWaitedFor()
  if not template then template, reason, run = emptiest() end
  return template and start(template, reason, run) or { kind = 'none' }
end)

-- A started sandbox answered: to the next waiter, else to the warm pool. A start that was given up meanwhile stays
-- given up, and one that is not ours is never adopted. Says whose it is.
script('ready', function(ask)
  local sandbox = ask.sandbox
  local phase, template, owner = unpack(redis.call('HMGET', key.sandbox .. sandbox, 'phase', 'template', 'owner'))
  if phase ~= 'starting' then return owner or nil end

  redis.call('HSET', key.sandbox .. sandbox, 'boot', ask.boot, 'address', ask.address, 'readyAtMs', nowMs)
  Sandbox.leaveStart(sandbox, template)
  Sandbox.enterPhase(sandbox, 'ready')
  Breaker.noteSuccess(template)
  local waiter = Grant.grantToNext(template, sandbox, 'cold')
  if not waiter then redis.call('ZADD', key.ready .. template, nowMs, sandbox) end
  return waiter
end)

-- The launcher says that a start came to nothing. `reason`: as `noteFailure` takes it.
script('launch-failed', function(ask)
  Breaker.failStart(ask.sandbox, ask.code, ask.message, ask.reason)
end)

-- Starts that hang: their slots go back, and they are destroyed.
script('overdue-launches', function()
  local portion = 100
  local overdue = redis.call('ZRANGEBYSCORE', key.starts, '-inf', nowMs, 'LIMIT', 0, portion)
  for _, sandbox in ipairs(overdue) do
    Breaker.failStart(sandbox, 'start_timeout', 'the sandbox did not become ready before its start timeout', '')
  end
  return overdue
end)
