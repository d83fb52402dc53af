-- requires: ending, grant, line, outage, presence, record, rollout, row, run, sandbox, verdict
-- Calls of rollouts claim sandboxes: creates a rollout at its first call, grants a ready sandbox when nobody stands
-- before it, else puts it in line. Every repeat follows the first.
-- Claims of the same moment share one run of this script. What they write to the same key goes out together at the
-- end, in `writeJoined`; nothing reads those keys before, and an attempt that closes another has them written first.
-- What the claims say comes as kinds, each once, for the rollouts of a group say the same but for their names; a claim is its
-- rollout and its kind's number. Raw follows the dataset row of each kind, empty where it has none.
script('claim', function(ask, rowTexts)
  local joined, runs, groups, tenants, nobodyWaits, written, versions = {}, {}, {}, {}, {}, {}, {}
  local readySpent, lacking, granted = {}, {}, {}

  local function later(command, name, first, second)
    local arguments = joined[name]
    if not arguments then
      arguments = { command, name }
      joined[name] = arguments
    end
    arguments[#arguments + 1] = first
    arguments[#arguments + 1] = second
  end

  -- Redis prints every number that a script hands it with 17 digits, which costs as much as a small command; the claims
  -- of one moment share most of theirs.
  local function digits(number)
    local text = written[number]
    if not text then
      text = string.format('%.0f', number)
      written[number] = text
    end
    return text
  end

  local versionKeptMs = 14 * 24 * 3600 * 1000 -- as `publish-environment` is told

  -- A version lives for as long after its last new rollout, far longer than any rollout: whoever settles its calls finds it.
  local function keepVersion(version)
    if redis.call('PEXPIRE', key.environment .. version, versionKeptMs) == 1 then
      redis.call('ZADD', key.environments, nowMs, version)
    elseif redis.call('PEXPIRE', key.newEnvironment .. version, versionKeptMs) == 1 then
      redis.call('ZADD', key.newEnvironments, nowMs, version)
    end
  end

  local function writeJoined()
    for environment, ms in pairs(readySpent) do Sandbox.tellCost(environment, 'ready', ms) end
    for template in pairs(lacking) do Sandbox.mayLack(template) end
    for _, arguments in pairs(joined) do redis.call(unpack(arguments)) end
    for name, group in pairs(groups) do Run.writeGroup(name, group) end
    for run, known in pairs(runs) do
      if known.rollouts > known.before then redis.call('HSET', key.run .. run, 'rollouts', known.rollouts) end
      if known.before == 0 and known.rollouts > 0 then Run.trim(run) end
    end
    for tenant, rows in pairs(tenants) do
      if rows.bytes > rows.before then redis.call('INCRBY', key.rowBytes .. tenant, rows.bytes - rows.before) end
    end
    for version in pairs(versions) do keepVersion(version) end
    Sandbox.movedAll(granted)
    joined, runs, groups, tenants, versions, readySpent, lacking, granted = {}, {}, {}, {}, {}, {}, {}, {}
  end

  local function theRun(run)
    if not runs[run] then
      local state, rollouts = unpack(redis.call('HMGET', key.run .. run, 'state', 'rollouts'))
      local before = tonumber(rollouts or 0)
      runs[run] = { closed = state == 'closed', before = before, rollouts = before }
    end
    return runs[run]
  end

  local function rowsOf(tenant)
    if not tenants[tenant] then
      Row.letGoOfRows(tenant)
      local before = tonumber(redis.call('GET', key.rowBytes .. tenant) or 0)
      tenants[tenant] = { before = before, bytes = before }
    end
    return tenants[tenant]
  end

  local function enterGroup(id, itemKey)
    local name = Run.groupKey(id, itemKey)
    local group = groups[name] or Run.readGroup(name) or Run.openWave(id, name, itemKey)
    group.open, group.n = group.open + 1, group.n + 1
    groups[name] = group
    return group.wave
  end

  local function anybodyWaits(template)
    if nobodyWaits[template] then return false end
    nobodyWaits[template] = Line.nextWaiter(template) == nil
    return not nobodyWaits[template]
  end

  -- `said.fields`: texts by the names of a rollout's fields; none is empty.
  local function kindOf(said, item)
    local kind = said.fields
    local leaseUntilMs, hardEndMs = nowMs + kind.idleMs, nowMs + kind.hardLifeMs
    kind.item, kind.recordOnly, kind.turn = item, said.recordOnly, said.turn
    kind.leaseEndsMs = digits(math.min(leaseUntilMs, hardEndMs))
    kind.kept = { 'calls', '0', 'placedAtMs', digits(nowMs), 'leaseUntilMs', digits(leaseUntilMs), 'hardEndMs', digits(hardEndMs) }
    for _, field in ipairs(claimedFields) do
      if kind[field] then kind.kept[#kind.kept + 1], kind.kept[#kind.kept + 2] = field, kind[field] end
    end
    return kind
  end

  -- Of the rollouts that are claimed for, read at once: the newest attempt of each lineage, and whether any has a record
  -- already, or gets one before its second claim of this moment.
  local lineages, attempts, newest, anyKnown = {}, {}, {}, false
  local function readBefore()
    local newestKeys, records, seen = {}, {}, {}
    for position, claim in ipairs(ask.claims) do
      local id = claim.key
      lineages[position], attempts[position] = Rollout.lineageOf(id)
      newestKeys[position] = key.newest .. lineages[position]
      records[position] = key.rollout .. id
      anyKnown = anyKnown or seen[id] == true
      seen[id] = true
    end
    anyKnown = anyKnown or redis.call('EXISTS', unpack(records)) > 0
    for index, attempt in ipairs(redis.call('MGET', unpack(newestKeys))) do
      newest[lineages[index]] = tonumber(attempt or 1)
    end
  end

  local function refused(claim, code)
    return { kind = 'refused', code = code, rollout = Record.read(claim.id) }
  end

  -- One that another rollout has brought costs nothing more.
  local function rowFits(claim)
    if claim.item == '' or redis.call('EXISTS', key.row .. Row.rowName(claim.id, claim.row)) == 1 then return true end
    return rowsOf(Rollout.tenantOf(claim.id)).bytes + #claim.item <= ask.rowBytesMax
  end

  local function keepItsRow(claim)
    if claim.item == '' then return end
    local rows = rowsOf(Rollout.tenantOf(claim.id))
    rows.bytes = rows.bytes + Row.keep(claim.id, claim.row, claim.item, tonumber(claim.hardLifeMs))
  end

  -- The row comes with a later call, or again after Redis has forgotten it. False: it is not kept, and was not before.
  local function keepLateRow(claim)
    if claim.item == '' then return true end
    local before = Rollout.read(claim.id, 'row')
    if before and redis.call('EXISTS', key.row .. Row.rowName(claim.id, before)) == 1 then return true end
    if not rowFits(claim) then return false end
    Rollout.write(claim.id, 'hadRow', '1', 'row', claim.row, 'itemDigest', claim.itemDigest or '')
    keepItsRow(claim)
    return true
  end

  local function claimAgain(claim, state)
    if Rollout.isOpen(state) then
      if not keepLateRow(claim) then return refused(claim, 'rows_full') end
      if claim.recordOnly then return Presence.claimReply(claim.id) end
      local code = Presence.stillHere(claim.id)
      if code then return refused(claim, code) end
      nobodyWaits[claim.template] = nil
      Grant.serveLine(claim.template)
    end
    return Presence.claimReply(claim.id)
  end

  -- Closes the attempt before this one, and takes its place in its wave if it never had a verdict.
  local function supersede(claim, lower)
    writeJoined()
    local lowerId = string.gsub(claim.id, '/%d+/([^/]+)$', '/' .. lower .. '/%1')
    local state, wave, itemKey = Rollout.read(lowerId, 'state', 'wave', 'itemKey')
    local verdict = Verdict.read(lowerId)
    if state and Rollout.isOpen(state) then Ending.close(lowerId, 'closed', 'superseded') end
    if not state or itemKey ~= claim.itemKey or verdict == 'scored' or verdict == 'discarded' then return nil end
    return Run.inheritWave(claim.id, itemKey, wave)
  end

  local function listInRun(id, run)
    if Rollout.isGrader(id) then return '0' end
    local known = theRun(run)
    known.rollouts = known.rollouts + 1
    local ordinal = digits(known.rollouts)
    later('SADD', key.open .. run, id)
    later('ZADD', key.rollouts .. run, ordinal, id)
    return ordinal
  end

  -- Writes a new record, in one command: this is what a burst's claims cost. What it has of its own comes before what its
  -- kind has. `boot` and `address`: of the sandbox that it is granted; a rollout without one waits.
  local function create(claim, wave, sandbox, boot, address)
    local ordinal = listInRun(claim.id, claim.run)
    if sandbox then
      Rollout.write(claim.id, 'wave', digits(wave), 'ordinal', ordinal, 'generation', '1', 'state', 'claimed', 'sandbox', sandbox,
        'boot', boot, 'address', address, 'launchType', 'warm', 'claimedAtMs', digits(nowMs), unpack(claim.kept))
    else
      Rollout.write(claim.id, 'wave', digits(wave), 'ordinal', ordinal, 'generation', '0', 'state', 'waiting', unpack(claim.kept))
    end
    later('ZADD', key.leases, claim.leaseEndsMs, claim.id)
    keepItsRow(claim)
    Run.renew(claim.run, claim.face)
    versions[claim.version] = true
  end

  -- What `grantToNext` (lib/grant.lua) writes, for a record that is made with it. The reply leaves out what the claim itself says.
  local function createHeld(claim, wave, sandbox)
    local boot, address, environment, readyMs = Grant.takeOver(claim.id, sandbox, digits(nowMs))
    if readyMs > 0 then readySpent[environment] = (readySpent[environment] or 0) + readyMs end
    lacking[claim.template] = true
    later('SADD', key.held .. claim.template, sandbox)
    later('ZADD', key.grants, digits(nowMs), claim.id)
    granted[#granted + 1] = sandbox
    create(claim, wave, sandbox, boot, address)
    return { kind = 'created', wave = tonumber(wave), atMs = nowMs, sandbox = sandbox, boot = boot, address = address }
  end

  local function createWaiting(claim, wave)
    create(claim, wave)
    Line.join(claim.id, claim.template, nowMs)
    nobodyWaits[claim.template] = nil
    Grant.serveLine(claim.template)
    return Presence.claimReply(claim.id)
  end

  -- What needs no sandbox stands nowhere: should it be called after all, that call takes a place.
  local function createRecord(claim, wave)
    create(claim, wave)
    return Presence.claimReply(claim.id)
  end

  -- Of a grader only the turn that lasts may claim: one that was given up meanwhile would take a later one's sandbox.
  local function isOver(claim)
    local id = Rollout.rolloutOf(claim.id)
    local state, turn, gradeUntilMs = Rollout.read(id, 'state', 'gradeTurn', 'gradeUntilMs')
    return state ~= 'grading' or Verdict.barred(id) or tonumber(turn) ~= claim.turn or tonumber(gradeUntilMs or 0) <= nowMs
  end

  -- Beside its rollout's record, in no run's list and no group. Whoever stands in its line waits for graders' sandboxes alone.
  local function openGrader(claim)
    local sandbox = not anybodyWaits(claim.template) and Grant.popReady(claim.template)
    if not sandbox and Line.staysFull(claim.run) then return refused(claim, 'line_full') end
    Rollout.write(claim.id, 'turn', claim.turn)
    return sandbox and createHeld(claim, 0, sandbox) or createWaiting(claim, 0)
  end

  local function claimGrader(claim)
    if isOver(claim) then return refused(claim, 'grader_failed') end
    local state, turn = Rollout.read(claim.id, 'state', 'turn')
    if state and tonumber(turn) ~= claim.turn then
      writeJoined()
      Ending.dropGrader(claim.id)
      state = nil
    end
    return state and claimAgain(claim, state) or openGrader(claim)
  end

  -- As in claiming/claim-request.ts, where the digest is made.
  local function isOtherItem(one, other)
    local pattern = '^(%d+):(%x+):(%x*)$'
    local format, fields, itemId = string.match(one or '', pattern)
    local otherFormat, otherFields, otherId = string.match(other or '', pattern)
    if not format or format ~= otherFormat then return false end
    return fields ~= otherFields or (itemId ~= '' and otherId ~= '' and itemId ~= otherId)
  end

  local isFull = redis.call('EXISTS', key.full) == 1

  local function open(claim)
    local lineage, attempt = claim.lineage, claim.attempt
    local before = newest[lineage]
    if before > attempt then return refused(claim, 'rollout_closed') end
    if isFull then return refused(claim, 'state_unavailable') end
    if not rowFits(claim) then return refused(claim, 'rows_full') end

    -- Whoever stands in line is served first.
    local sandbox = not claim.recordOnly and not anybodyWaits(claim.template) and Grant.popReady(claim.template)
    local waits = not sandbox and not claim.recordOnly
    if waits and Line.staysFull(claim.run) then return refused(claim, 'line_full') end

    local wave = before < attempt and supersede(claim, before) or enterGroup(claim.id, claim.itemKey)
    if attempt > 1 then
      redis.call('SET', key.newest .. lineage, attempt)
      newest[lineage] = attempt
    end
    if sandbox then return createHeld(claim, wave, sandbox) end
    return waits and createWaiting(claim, wave) or createRecord(claim, wave)
  end

  local anybodyUnsure = redis.call('EXISTS', key.unsure, key.nameless) > 0

  local function answer(claim)
    if Rollout.isGrader(claim.id) then return claimGrader(claim) end
    local environment, state, itemDigest
    if anyKnown then environment, state, itemDigest = Rollout.read(claim.id, 'environment', 'state', 'itemDigest') end
    local hasEnded = state and not Rollout.isOpen(state)
    if theRun(claim.run).closed and not hasEnded then return refused(claim, 'run_closed') end
    if not environment then
      local code = anybodyUnsure and Outage.unsureCode(claim.id)
      return code and refused(claim, code) or open(claim)
    end
    if environment ~= claim.environment then return refused(claim, 'environment_mismatch') end
    if isOtherItem(itemDigest, claim.itemDigest) then return refused(claim, 'item_mismatch') end
    return claimAgain(claim, state)
  end

  readBefore()
  local kinds, replies = {}, {}
  for number, said in ipairs(ask.kinds) do kinds[number] = kindOf(said, rowTexts[number]) end
  for position, asked in ipairs(ask.claims) do
    local claim = kinds[asked.kind]
    claim.id, claim.run = asked.key, Rollout.runOf(asked.key)
    claim.lineage, claim.attempt = lineages[position], attempts[position]
    -- One whose reply has a fresh verdict is asked for again by itself, or the others would wait for a replica with it.
    hasFreshVerdict = false
    replies[position] = answer(claim)
    if hasFreshVerdict and #ask.claims > 1 then replies[position], hasFreshVerdict = { kind = 'apart' }, false end
  end
  writeJoined()
  return replies
end)
