-- uses: presence ending
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
  local runs = key.runs .. string.match(run, '^[^/]+')
  redis.call('SADD', key.open .. run, id)
  redis.call('ZADD', key.rollouts .. run, ordinal, id)
  redis.call('ZADD', runs, nowMs, run)
  if ordinal == 1 then
    redis.call('ZREMRANGEBYSCORE', runs, '-inf', nowMs - keptForReportsMs)
    trimRun(run)
  end
  return ordinal
end

local function create(inheritedWave)
  local hardEndMs = nowMs + hardLifeMs
  write(id, 'state', 'waiting', 'face', face, 'environment', environment, 'version', version,
    'template', template, 'itemKey', itemKey, 'wave', enterGroup(id, itemKey, inheritedWave),
    'generation', 0, 'calls', 0, 'placedAtMs', nowMs, 'idleMs', idleMs, 'hardEndMs', hardEndMs,
    'ordinal', listInRun())
  redis.call('SET', key.newest .. lineage, attempt)
  keepItem()
  leaseUntil(id, nowMs + idleMs, hardEndMs)
  renewRun(run, face)
end

local runIsClosed = redis.call('HGET', key.run .. run, 'state') == 'closed'
local knownEnvironment, state = read(id, 'environment', 'state')
if runIsClosed and not (state and not isOpen(state)) then return { 'refused', 'run_closed', record(id) } end
if knownEnvironment then return claimAgain(knownEnvironment) end

local newest = tonumber(redis.call('GET', key.newest .. lineage) or 0)
if newest > attempt then return { 'refused', 'rollout_closed', false } end

local mustWait = redis.call('ZCARD', key.ready .. template) == 0 or nextWaiter(template) ~= nil
if mustWait and lineStaysFull(run) then return { 'refused', 'line_full', false } end

create(newest > 0 and supersede(newest) or nil)
if mustWait then
  joinLine(id, template, nowMs)
  serveLine(template)
else
  grant(id, popReady(template), 'warm')
end
return claimReply(id)
