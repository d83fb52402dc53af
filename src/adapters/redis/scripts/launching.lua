-- requires: breaker, grant, line, pool, rollout, sandbox
-- From what is lacking to a sandbox that is ready: plans of controllers, reservations, and ends of starts.

-- A plan of thousands is some hundred KB, and a burst of rows with images of their own makes another each second. Who names
-- one that is not there any more tells it again.
local planKeptMs = 60 * 1000

-- What controllers want of each template, under the digest of all of it: a reservation names that and not thousands of them.
-- By a new one a pool may lack what by the one before it did not. A target is the text that `reserve` reads.
script('keep-plan', function(ask)
  local plan = key.plan .. ask.plan
  local heaviest = 1 -- with the places that stay free for its graders
  for _, each in ipairs(ask.targets) do
    local template, target = each.template, each.target
    redis.call('HSET', plan, template, target)
    local minReady, weight, forGraders = string.match(target, '^(%d+) %d+ (%d+) (%d+)')
    minReady, heaviest = tonumber(minReady), math.max(heaviest, weight + forGraders)
    local coming = redis.call('ZCARD', key.ready .. template) + redis.call('SCARD', key.starting .. template)
    if coming < minReady then Sandbox.mayLack(template) end
  end
  redis.call('HSET', plan, '', string.format('%.0f', heaviest)) -- an empty one is there, too
  redis.call('PEXPIRE', plan, planKeptMs)
end)

-- Pools of these templates lack something, says a controller that has counted all of them.
script('look-at', function(ask)
  for _, template in ipairs(ask.templates) do Sandbox.mayLack(template) end
end)

-- What a job says of its start, for people: which rollout gets the sandbox is decided when it is ready.
local function launchOf(sandbox, template, environment, reason, run)
  return {
    sandbox = sandbox, template = template, environment = environment or 'unknown', reason = reason or 'refill',
    run = run and run ~= '' and run or nil,
  }
end

-- Gives start slots to `sandboxes`, in their order: for waiting rollouts first, round-robin over runs and over each run's
-- templates; then refill up to the target or what is announced, the emptiest pool first. Starts under way count as there,
-- so each need is started for once. It ends when the budget is used up or nothing is lacking.
-- `slots`: for templates that rows and demands made (pool-store.ts: of one until a sandbox of it stands, of one after that, of
-- all that none stands of). In the plan each template has its minReady, its max, how many sandboxes of the max it takes the place of,
-- how many places stay free for its graders, the environment version that it was chosen for, or `-`, the group that shares the max, or
-- `-` if it is alone in it, and the environment that it costs. Under the empty name it has the most places of any.
script('reserve', function(ask)
  local slots, plan = ask.slots, ask.plan
  if redis.call('PEXPIRE', key.plan .. plan, planKeptMs) == 0 then return { kind = 'no_plan' } end

  -- Some template is wanted that the plan does not have: the controller may have to read what rows and demands made.
  local isUnplanned = false

  local targets = {}
  local function targetOf(template)
    if targets[template] == nil then
      local minReady, max, weight, forGraders, version, group, environment =
        string.match(redis.call('HGET', key.plan .. plan, template) or '', '^(%d+) (%d+) (%d+) (%d+) (%S+) (%S+) (%S+)$')
      targets[template] = minReady and {
        minReady = tonumber(minReady), max = tonumber(max), weight = tonumber(weight), forGraders = tonumber(forGraders),
        isChosen = version ~= '-', group = group ~= '-' and group, environment = environment,
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

  -- What the next reservation counts again, because the one before has changed it.
  local groups, loads, unproven, isHeld
  local function countAgain()
    groups, loads, unproven, isHeld = nil, {}, nil, {}
  end

  local function sandboxesOf(template)
    local ready, starting, held = sizes(template)
    return ready + starting + held
  end

  -- The templates of each group that have sandboxes, and how many; read once, and only if it matters.
  local function readGroups()
    local groups, names = {}, redis.call('SMEMBERS', key.stocked)
    table.sort(names)
    for _, template in ipairs(names) do
      local sandboxes, target = sandboxesOf(template), targetOf(template)
      Sandbox.stock(template, sandboxes)
      if sandboxes > 0 and target and target.group then
        local members = groups[target.group] or {}
        members[#members + 1] = { template = template, sandboxes = sandboxes }
        groups[target.group] = members
      end
    end
    return groups
  end

  local function membersOf(group)
    groups = groups or readGroups()
    return groups[group] or {}
  end

  -- How many places of its max the sandboxes of a group take, and how many more stay free for their graders.
  local function loadOf(group)
    if loads[group] then return unpack(loads[group]) end
    local taken, forGraders = 0, 0
    for _, member in ipairs(membersOf(group)) do
      local target = targetOf(member.template)
      taken = taken + member.sandboxes * target.weight
      forGraders = math.max(forGraders, target.forGraders)
    end
    loads[group] = { taken, forGraders }
    return taken, forGraders
  end

  -- How many places one more sandbox of the template lacks. One that would be alone in its group has room, however large it is.
  local heaviest = tonumber(redis.call('HGET', key.plan .. plan, '')) or 1
  local function lacks(template)
    local target = targetOf(template)
    if not target.group then return math.max(0, sandboxesOf(template) + 1 - target.max) end
    if (redis.call('SCARD', key.sandboxes) + 1) * heaviest <= target.max then return 0 end
    local taken, forGraders = loadOf(target.group)
    if taken == 0 and target.max > 0 then return 0 end
    return math.max(0, taken + target.weight + math.max(forGraders, target.forGraders) - target.max)
  end

  -- Sandboxes of the group that no rollout waits for, the oldest first: so many that without them one of this template has room. Nil:
  -- there are not so many. An announced burst has no claim to its sandboxes either: any rollout that comes first gets them.
  local function idleBeside(template)
    local group, max, idle = targetOf(template).group, targetOf(template).max, {}
    if not group or max == 0 then return nil end
    local taken = loadOf(group)
    local lacking = math.min(lacks(template), taken)
    for _, member in ipairs(membersOf(group)) do
      local other = member.template
      if other ~= template and Line.countGrantable(other) == 0 then
        local found = redis.call('ZRANGE', key.ready .. other, 0, lacking - 1, 'WITHSCORES')
        for index = 1, #found, 2 do
          idle[#idle + 1] = { sandbox = found[index], sinceMs = tonumber(found[index + 1]), weight = targetOf(other).weight }
        end
      end
    end
    table.sort(idle, function(one, other) return one.sinceMs < other.sinceMs end)
    local enough = {}
    for _, one in ipairs(idle) do
      if lacking <= 0 then break end
      enough[#enough + 1], lacking = one.sandbox, lacking - one.weight
    end
    return lacking <= 0 and enough or nil
  end

  -- No machine had room for its last start.
  local function foundNoRoom(template)
    return redis.call('HGET', key.breaker .. template, 'code') == 'unschedulable'
  end

  local function isProven(template)
    return Sandbox.standing(template) > 0 and not foundNoRoom(template)
  end

  -- A start that waits for room on a machine holds its slot as a pull does, so a template that found none has one at a time. Graders
  -- need no such bound for all together: their share of the pool is one, and a policy's sandbox has shown that the image starts.
  local function mayPull(template, isForGrader)
    local proven = isProven(template)
    local most = foundNoRoom(template) and 1 or proven and slots.later or slots.first
    if redis.call('SCARD', key.starting .. template) >= most then return false end
    if proven or isForGrader then return true end
    unproven = unproven or Pool.unprovenStarts(function(each) return isChosen(each) and not isProven(each) end)
    return unproven < slots.unproven
  end

  local function mayStart(template, isForGrader)
    return (not isChosen(template) or mayPull(template, isForGrader)) and Breaker.mayStart(template)
  end

  -- A template without target is one that this controller cannot create.
  -- A group is held in which a rollout waits that needs more places than are free. Nothing else of the group starts before it: smaller
  -- ones would take each place that becomes free, and it would wait forever.
  local function isWaitedFor(template, isForGrader)
    local target = targetOf(template)
    if not target then isUnplanned = true end
    if not target or isHeld[target.group] then return false end
    local starting = redis.call('SCARD', key.starting .. template)
    if starting >= Line.countGrantable(template) or not mayStart(template, isForGrader) then return false end
    if lacks(template) == 0 or idleBeside(template) then return true end
    if target.group then isHeld[target.group] = true end
    return false
  end

  local function makeRoom(template)
    for _, sandbox in ipairs(lacks(template) > 0 and idleBeside(template) or {}) do Sandbox.drain(sandbox) end
  end

  -- Those of whom one waits are few, and in the order in which they came.
  local function firstGrader()
    for _, id in ipairs(redis.call('ZRANGE', key.graderWaiters, 0, 99)) do
      local template = Rollout.read(id, 'template')
      if template and isWaitedFor(template, true) then return template, Rollout.runOf(id) end
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
        if full < lowest and not isHeld[target.group] and mayStart(template) and lacks(template) == 0 then
          found, lowest, reason = template, full, announced > target.minReady and 'announced' or 'refill'
        end
      else
        isUnplanned = true
      end
    end
    return found, reason, ''
  end

  local function start(sandbox, template, reason, run)
    redis.call('HSET', key.sandbox .. sandbox, 'template', template, 'phase', 'starting', 'sinceMs', nowMs, 'reason', reason,
      'run', run, 'environment', targetOf(template).environment)
    redis.call('ZADD', key.starts, nowMs + ask.startTimeoutMs, sandbox)
    redis.call('SADD', key.starting .. template, sandbox)
    Sandbox.enlist(sandbox, template)
    Sandbox.moved(sandbox)
    Breaker.noteStart(template, sandbox)
    return launchOf(sandbox, template, targetOf(template).environment, reason, run)
  end

  local launches = {}
  for _, sandbox in ipairs(ask.sandboxes) do
    if redis.call('ZCARD', key.starts) >= ask.startBudget then break end
    if redis.call('EXISTS', key.sandbox .. sandbox) == 0 then
      countAgain()
      local template, reason, run = nextWaitedFor()
      if not template then template, reason, run = emptiest() end
      if not template then break end
      launches[#launches + 1] = start(sandbox, template, reason, run)
    end
  end
  return { kind = 'reserved', launches = launches, starting = redis.call('ZCARD', key.starts), isUnplanned = isUnplanned }
end)

-- Starts that have been under way for `forMs` at least: a process that reserved them may have ended before it made their jobs.
script('starts', function(ask)
  local starts = {}
  for _, sandbox in ipairs(redis.call('ZRANGE', key.starts, 0, -1)) do
    local phase, sinceMs, template, environment, reason, run = unpack(redis.call('HMGET', key.sandbox .. sandbox,
      'phase', 'sinceMs', 'template', 'environment', 'reason', 'run'))
    if phase == 'starting' and nowMs - sinceMs >= ask.forMs then
      starts[#starts + 1] = launchOf(sandbox, template, environment, reason, run)
    end
  end
  return starts
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
