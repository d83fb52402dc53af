-- A rollout's call claims a sandbox: creates the rollout at its first call, grants a ready sandbox when nobody
-- stands before it, else puts it in line. Every repeat follows the first.
local id, face, environment, version, template, itemKey, item, idleMs, hardLifeMs = unpack(ARGV, 2)
local run = runOf(id)
local lineage, attempt = lineageOf(id)

local function keepItem()
  if item ~= '' then redis.call('SET', key.item .. id, item, 'NX') end
end

local function claimAgain(knownEnvironment)
  if knownEnvironment ~= environment then return { 'refused', 'environment_mismatch', record(id) } end
  if isOpen(read(id, 'state')) then
    keepItem()
    local refused = stillHere(id)
    if refused then return { 'refused', refused, record(id) } end
    serveLine(template)
  end
  return claimReply(id)
end

-- Closes the attempt before this one; returns the wave whose place it hands on, if it never had a verdict.
local function supersede(lower)
  local lowerId = string.gsub(id, '/%d+/([^/]+)$', '/' .. lower .. '/%1')
  local state, wave, itsItemKey, score, discarded = read(lowerId, 'state', 'wave', 'itemKey', 'score', 'discard')
  if not state then return nil end
  if isOpen(state) then closeRollout(lowerId, 'closed', 'superseded') end
  if itsItemKey == itemKey and not score and not discarded then return wave end
end

local function listInRun()
  local ordinal = redis.call('HINCRBY', key.run .. run, 'rollouts', 1)
  redis.call('SADD', key.open .. run, id)
  redis.call('ZADD', key.rollouts .. run, ordinal, id)
  if ordinal == 1 then trimRun(run) end
  return ordinal
end

-- Writes a new rollout and answers from what was written: reading it back would cost a fifth of the whole claim.
local function create(wave, fields)
  local hardEndMs = nowMs + hardLifeMs
  fields.face, fields.environment, fields.version = face, environment, version
  fields.template, fields.itemKey, fields.wave = template, itemKey, wave
  fields.calls, fields.placedAtMs, fields.leaseUntilMs = 0, nowMs, nowMs + idleMs
  fields.idleMs, fields.hardEndMs, fields.ordinal = idleMs, hardEndMs, listInRun()
  writeAll(id, fields)
  redis.call('ZADD', key.leases, math.min(fields.leaseUntilMs, hardEndMs), id)
  keepItem()
  renewRun(run, face)
  return newRecord(id, fields, item ~= '' and item)
end

local runIsClosed = redis.call('HGET', key.run .. run, 'state') == 'closed'
local knownEnvironment, state = read(id, 'environment', 'state')
if runIsClosed and not (state and not isOpen(state)) then return { 'refused', 'run_closed', record(id) } end
if knownEnvironment then return claimAgain(knownEnvironment) end

local newest = tonumber(redis.call('SET', key.newest .. lineage, attempt, 'NX', 'GET') or 0)
if newest > attempt then return { 'refused', 'rollout_closed', false } end

-- Whoever stands in line is served first.
local sandbox = not nextWaiter(template) and popReady(template)
if not sandbox and lineStaysFull(run) then
  if newest == 0 then redis.call('DEL', key.newest .. lineage) end
  return { 'refused', 'line_full', false }
end

local wave = newest > 0 and supersede(newest)
wave = wave and inheritWave(id, itemKey, wave) or enterGroup(id, itemKey)
if newest > 0 then redis.call('SET', key.newest .. lineage, attempt) end
if sandbox then
  local fields = takeOver(id, sandbox, 'warm')
  fields.generation = 1
  return { 'held', 0, create(wave, fields) }
end
create(wave, { state = 'waiting', generation = 0 })
joinLine(id, template, nowMs)
serveLine(template)
return claimReply(id)
