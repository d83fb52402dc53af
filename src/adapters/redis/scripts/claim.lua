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

-- Writes the record of a new rollout; what follows `wave` is what it gets at once.
local function create(wave, ...)
  local hardEndMs = nowMs + hardLifeMs
  local leaseUntilMs = nowMs + idleMs
  write(id, 'face', face, 'environment', environment, 'version', version, 'template', template,
    'itemKey', itemKey, 'wave', wave, 'calls', 0, 'placedAtMs', nowMs, 'idleMs', idleMs,
    'hardEndMs', hardEndMs, 'leaseUntilMs', leaseUntilMs, 'ordinal', listInRun(), ...)
  redis.call('ZADD', key.leases, math.min(leaseUntilMs, hardEndMs), id)
  redis.call('SET', key.newest .. lineage, attempt)
  keepItem()
  renewRun(run, face)
end

local runIsClosed = redis.call('HGET', key.run .. run, 'state') == 'closed'
local knownEnvironment, state = read(id, 'environment', 'state')
if runIsClosed and not (state and not isOpen(state)) then return { 'refused', 'run_closed', record(id) } end
if knownEnvironment then return claimAgain(knownEnvironment) end

local newest = tonumber(redis.call('GET', key.newest .. lineage) or 0)
if newest > attempt then return { 'refused', 'rollout_closed', false } end

-- Whoever stands in line is served first; a ready sandbox beside a waiter is only there until this script ends.
local mustWait = nextWaiter(template) ~= nil or redis.call('ZCARD', key.ready .. template) == 0
if mustWait and lineStaysFull(run) then return { 'refused', 'line_full', false } end

local inherited = newest > 0 and supersede(newest)
local wave = inherited and inheritWave(id, itemKey, inherited) or enterGroup(id, itemKey)
if mustWait then
  create(wave, 'state', 'waiting', 'generation', 0)
  joinLine(id, template, nowMs)
  serveLine(template)
else
  create(wave, 'generation', 1, takeOver(id, popReady(template), 'warm'))
end
return claimReply(id)
