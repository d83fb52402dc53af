-- Calls of rollouts claim sandboxes: creates a rollout at its first call, grants a ready sandbox when nobody stands
-- before it, else puts it in line. Every repeat follows the first.
-- Claims of the same moment share one run of this script (ARGV: nine values each). What they write to the same key
-- goes out together at the end, in `writeJoined`; nothing here reads those keys before.
local joined, runs, groups, nobodyWaits = {}, {}, {}, {}

local function later(command, name, ...)
  local arguments = joined[name] or { command, name }
  for _, argument in ipairs({ ... }) do arguments[#arguments + 1] = argument end
  joined[name] = arguments
end

local function writeJoined()
  for _, arguments in pairs(joined) do redis.call(unpack(arguments)) end
  for name, group in pairs(groups) do writeGroup(name, group) end
  for run, known in pairs(runs) do
    if known.rollouts > known.before then redis.call('HSET', key.run .. run, 'rollouts', known.rollouts) end
    if known.before == 0 and known.rollouts > 0 then trimRun(run) end
  end
  joined, runs, groups = {}, {}, {}
end

local function theRun(run)
  if not runs[run] then
    local state, rollouts = unpack(redis.call('HMGET', key.run .. run, 'state', 'rollouts'))
    local before = tonumber(rollouts or 0)
    runs[run] = { closed = state == 'closed', before = before, rollouts = before }
  end
  return runs[run]
end

local function enterGroup(id, itemKey)
  local name = groupKey(id, itemKey)
  local group = groups[name] or readGroup(name) or openWave(id, name, itemKey)
  group.open, group.n = group.open + 1, group.n + 1
  groups[name] = group
  return group.wave
end

local function anybodyWaits(template)
  if nobodyWaits[template] then return false end
  nobodyWaits[template] = nextWaiter(template) == nil
  return not nobodyWaits[template]
end

local function claimOne(id, face, environment, version, template, itemKey, item, idleMs, hardLifeMs)
  local run = runOf(id)
  local lineage, attempt = lineageOf(id)

  local function keepItem()
    if item ~= '' then redis.call('SET', key.item .. id, item, 'NX') end
  end

  local function claimAgain(knownEnvironment, state)
    if knownEnvironment ~= environment then return { 'refused', 'environment_mismatch', record(id) } end
    if isOpen(state) then
      keepItem()
      local refused = stillHere(id)
      if refused then return { 'refused', refused, record(id) } end
      nobodyWaits[template] = nil
      serveLine(template)
    end
    return claimReply(id)
  end

  -- Closes the attempt before this one, and takes its place in its wave if it never had a verdict.
  local function supersede(lower)
    writeJoined()
    local lowerId = string.gsub(id, '/%d+/([^/]+)$', '/' .. lower .. '/%1')
    local state, wave, itsItemKey, score, discarded = read(lowerId, 'state', 'wave', 'itemKey', 'score', 'discard')
    if state and isOpen(state) then closeRollout(lowerId, 'closed', 'superseded') end
    if not state or itsItemKey ~= itemKey or score or discarded then return nil end
    return inheritWave(id, itemKey, wave)
  end

  -- Answers from what is written: reading it back would cost a fifth of the whole claim.
  local function create(wave, fields)
    local known = theRun(run)
    known.rollouts = known.rollouts + 1
    local hardEndMs, leaseUntilMs = nowMs + hardLifeMs, nowMs + idleMs
    fields.face, fields.environment, fields.version = face, environment, version
    fields.template, fields.itemKey, fields.wave = template, itemKey, wave
    fields.calls, fields.placedAtMs, fields.leaseUntilMs = 0, nowMs, leaseUntilMs
    fields.idleMs, fields.hardEndMs, fields.ordinal = idleMs, hardEndMs, known.rollouts
    writeAll(id, fields)
    later('SADD', key.open .. run, id)
    later('ZADD', key.rollouts .. run, known.rollouts, id)
    later('ZADD', key.leases, math.min(leaseUntilMs, hardEndMs), id)
    keepItem()
    renewRun(run, face)
    return newRecord(id, fields, item ~= '' and item)
  end

  local knownEnvironment, state = read(id, 'environment', 'state')
  if theRun(run).closed and not (state and not isOpen(state)) then return { 'refused', 'run_closed', record(id) } end
  if knownEnvironment then return claimAgain(knownEnvironment, state) end

  local newest = newestOf(lineage)
  if newest > attempt then return { 'refused', 'rollout_closed', false } end

  -- Whoever stands in line is served first.
  local sandbox = not anybodyWaits(template) and popReady(template)
  if not sandbox and lineStaysFull(run) then return { 'refused', 'line_full', false } end

  local wave = newest < attempt and supersede(newest) or enterGroup(id, itemKey)
  if attempt > 1 then redis.call('SET', key.newest .. lineage, attempt) end
  if sandbox then
    local fields = takeOver(id, sandbox, 'warm', later)
    fields.generation = 1
    return { 'held', 0, create(wave, fields) }
  end
  create(wave, { state = 'waiting', generation = 0 })
  joinLine(id, template, nowMs)
  nobodyWaits[template] = nil
  serveLine(template)
  return claimReply(id)
end

local replies = {}
for index = 2, #ARGV, 9 do
  replies[#replies + 1] = claimOne(unpack(ARGV, index, index + 8))
end
writeJoined()
return replies
