-- requires: line, run, sandbox, version
-- What the claims that share one run of `claim` have in common. What they write to the same key is collected here, and `write`
-- writes it in one command. No script reads those keys before; an attempt that closes another has them written first.

local commands, runs, groups, tenants, versions, readySpent, lacking, granted
local emptyLines, texts

local function collect()
  commands, runs, groups, tenants, versions, readySpent, lacking, granted = {}, {}, {}, {}, {}, {}, {}, {}
end

local function begin()
  collect()
  emptyLines, texts = {}, {}
end

-- Adds two arguments to the command of the key `name`.
local function later(command, name, first, second)
  local arguments = commands[name]
  if not arguments then
    arguments = { command, name }
    commands[name] = arguments
  end
  arguments[#arguments + 1] = first
  arguments[#arguments + 1] = second
end

-- Redis prints every number of a script with 17 digits, which costs as much as a small command. The claims of a batch share most of
-- their numbers.
local function digits(number)
  local text = texts[number]
  if not text then
    text = string.format('%.0f', number)
    texts[number] = text
  end
  return text
end

local function ofRun(run)
  if not runs[run] then
    local state, rollouts = unpack(redis.call('HMGET', key.run .. run, 'state', 'rollouts'))
    local before = tonumber(rollouts or 0)
    runs[run] = { closed = state == 'closed', before = before, rollouts = before }
  end
  return runs[run]
end

local function rowsOf(tenant)
  if not tenants[tenant] then
    local before = tonumber(redis.call('GET', key.rowBytes .. tenant) or 0)
    tenants[tenant] = { before = before, bytes = before }
  end
  return tenants[tenant]
end

-- Returns the wave that the rollout belongs to.
local function enterGroup(id, itemKey)
  local name = Run.groupKey(id, itemKey)
  local group = groups[name] or Run.readGroup(name) or Run.openWave(id, name, itemKey)
  group.open, group.n = group.open + 1, group.n + 1
  groups[name] = group
  return group.wave
end

local function keepVersion(version)
  versions[version] = true
end

-- True if a rollout waits for the template. The answer is remembered while it is false.
local function isAwaited(template)
  if emptyLines[template] then return false end
  emptyLines[template] = Line.nextWaiter(template) == nil
  return not emptyLines[template]
end

local function lineMayGrow(template)
  emptyLines[template] = nil
end

-- A sandbox was ready for `readyMs` and has its owner now.
local function leavePool(template, sandbox, environment, readyMs)
  if readyMs > 0 then readySpent[environment] = (readySpent[environment] or 0) + readyMs end
  lacking[template] = true
  granted[#granted + 1] = sandbox
end

-- As `publish-environment` gets it. A version is kept for this long after its last new rollout, far longer than any rollout lasts, so it
-- is there when calls settle.
local versionKeptMs = 14 * 24 * 3600 * 1000

local function writeRun(run, known)
  if known.rollouts > known.before then redis.call('HSET', key.run .. run, 'rollouts', known.rollouts) end
  if known.before == 0 and known.rollouts > 0 then Run.trim(run) end
end

local function writeRowBytes(tenant, rows)
  if rows.bytes > rows.before then redis.call('INCRBY', key.rowBytes .. tenant, rows.bytes - rows.before) end
end

-- Writes what was collected. Later claims of the batch collect again.
local function write()
  for environment, ms in pairs(readySpent) do Sandbox.tellCost(environment, 'ready', ms) end
  for template in pairs(lacking) do Sandbox.mayLack(template) end
  for _, arguments in pairs(commands) do redis.call(unpack(arguments)) end
  for name, group in pairs(groups) do Run.writeGroup(name, group) end
  for run, known in pairs(runs) do writeRun(run, known) end
  for tenant, rows in pairs(tenants) do writeRowBytes(tenant, rows) end
  for version in pairs(versions) do Version.renew(version, versionKeptMs) end
  Sandbox.movedAll(granted)
  collect()
end

return {
  begin = begin,
  later = later,
  digits = digits,
  ofRun = ofRun,
  rowsOf = rowsOf,
  enterGroup = enterGroup,
  keepVersion = keepVersion,
  isAwaited = isAwaited,
  lineMayGrow = lineMayGrow,
  leavePool = leavePool,
  write = write,
}
