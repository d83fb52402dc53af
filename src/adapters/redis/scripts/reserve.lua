-- What the holder of a blank ticket starts: for waiting rollouts first, round-robin over runs and over each run's
-- templates; then refill up to the target or what is announced, the emptiest pool first. Starts under way count as there, so nobody is started for twice.
-- ARGV: ticket, sandbox, start budget, start timeout, the slots for images of rows (model/pull-slots.ts: of one until a
-- sandbox of it stands, of one after that, of all that none stands of), then template, minReady, max, the environment
-- version that it was chosen for, or nothing, and the environment that it costs, of each target.
local ticket, sandbox, startBudget, startTimeoutMs, firstSlots, laterSlots, unprovenSlots = unpack(ARGV, 2)
local firstTarget, valuesEach = 9, 5

local targets = {}
for index = firstTarget, #ARGV, valuesEach do
  local minReady, max, version = tonumber(ARGV[index + 1]), tonumber(ARGV[index + 2]), ARGV[index + 3]
  targets[ARGV[index]] =
    { minReady = minReady, max = max, version = version ~= '' and version, environment = ARGV[index + 4] }
end

local function sizes(template)
  return redis.call('ZCARD', key.ready .. template), redis.call('SCARD', key.starting .. template),
    redis.call('SCARD', key.held .. template)
end

local function isChosen(template)
  return targets[template] and targets[template].version
end

-- Sandboxes of all templates of an environment whose rows name their images; counted once, and only where it matters.
local ofVersion = {}
local function sandboxesOf(version)
  if ofVersion[version] then return ofVersion[version] end
  local sum = 0
  for template, target in pairs(targets) do
    if target.version == version then
      local ready, starting, held = sizes(template)
      sum = sum + ready + starting + held
    end
  end
  ofVersion[version] = sum
  return sum
end

local function environmentIsFull(target)
  return redis.call('SCARD', key.sandboxes) >= target.max and sandboxesOf(target.version) >= target.max
end

local unproven
local function mayPull(template)
  local isProven = standing(template) > 0
  local slots = tonumber(isProven and laterSlots or firstSlots)
  if redis.call('SCARD', key.starting .. template) >= slots then return false end
  if isProven then return true end
  unproven = unproven or unprovenStarts(isChosen)
  return unproven < tonumber(unprovenSlots)
end

local function hasRoom(template)
  local target = targets[template]
  if target.version then
    return mayPull(template) and not environmentIsFull(target) and mayStart(template)
  end
  local ready, starting, held = sizes(template)
  return ready + starting + held < target.max and mayStart(template)
end

-- A template without target is one that this controller cannot create.
local function isWaitedFor(template)
  return targets[template] and redis.call('SCARD', key.starting .. template) < countGrantable(template) and hasRoom(template)
end

-- The next template of a run's ring that needs a start; members that left the line leave the ring here.
local function templateFor(run)
  local ring = key.launchTemplates .. run
  for _, template in ipairs(redis.call('ZRANGE', ring, 0, -1)) do
    if redis.call('ZCARD', lineKey(template, run)) == 0 then
      redis.call('ZREM', ring, template)
    elseif isWaitedFor(template) then
      return template
    end
  end
end

local function nextWaitedFor()
  for _, run in ipairs(redis.call('ZRANGE', key.launchRuns, 0, -1)) do
    local template = templateFor(run)
    if template then
      passTurn(key.launchRuns, run)
      passTurn(key.launchTemplates .. run, template)
      return template, 'waiting', run
    end
    if redis.call('EXISTS', key.launchTemplates .. run) == 0 then redis.call('ZREM', key.launchRuns, run) end
  end
end

-- The share of its target that a pool has, counting starts that no waiting rollout will take.
local function fullness(template, minReady)
  local ready, starting = sizes(template)
  local spare = math.max(0, starting - redis.call('ZCARD', key.grantable .. template))
  return (ready + spare) / minReady
end

local function emptiest()
  local found, lowest, reason = nil, 1, nil
  for index = firstTarget, #ARGV, valuesEach do
    local template = ARGV[index]
    local target = targets[template]
    local announced = announcedOf(template)
    local minReady = math.min(target.max, math.max(target.minReady, announced))
    local full = minReady > 0 and fullness(template, minReady) or 1
    if full < lowest and hasRoom(template) then
      found, lowest, reason = template, full, announced > target.minReady and 'announced' or 'refill'
    end
  end
  return found, reason, ''
end

-- Why, and for which run, is only told to whoever looks: who gets the sandbox is decided when it is ready.
local function start(template, reason, run)
  redis.call('HSET', key.sandbox .. sandbox, 'template', template, 'phase', 'starting', 'sinceMs', nowMs, 'ticket', ticket,
    'reason', reason, 'run', run, 'environment', targets[template].environment)
  redis.call('ZADD', key.starts, nowMs + startTimeoutMs, sandbox)
  redis.call('SADD', key.starting .. template, sandbox)
  redis.call('SADD', key.sandboxes, sandbox)
  redis.call('SADD', key.templates, template)
  redis.call('SET', key.ticket .. ticket, sandbox, 'PX', startTimeoutMs)
  noteStart(template, sandbox)
  return { sandbox, template, reason, run }
end

-- A ticket that comes again gets its start again while that is under way; once it is over, the ticket is used.
local earlier = redis.call('GET', key.ticket .. ticket)
if earlier then
  local phase, template, reason, run =
    unpack(redis.call('HMGET', key.sandbox .. earlier, 'phase', 'template', 'reason', 'run'))
  return phase == 'starting' and { earlier, template, reason or 'refill', run or '' }
end
if redis.call('EXISTS', key.sandbox .. sandbox) == 1 then return false end
if redis.call('ZCARD', key.starts) >= tonumber(startBudget) then return false end

local template, reason, run = nextWaitedFor()
if not template then template, reason, run = emptiest() end
return template and start(template, reason, run)
