-- requires: batch, ending, grant, line, presence, record, rollout, row, run, verdict
-- A rollout gets its record at its first claim. It has a sandbox that is ready if no other rollout waits before it; else it stands in
-- line. `claim`: its kind (`kindOf` of claim.lua) with the rollout's id, run, lineage and attempt.

local function refused(claim, code)
  return { kind = 'refused', code = code, rollout = Record.read(claim.id) }
end

-- A row that another rollout brought already costs nothing more.
local function rowFits(claim, rowBytesMax)
  if claim.item == '' or redis.call('EXISTS', key.row .. Row.rowName(claim.id, claim.row)) == 1 then return true end
  return Batch.rowsOf(Rollout.tenantOf(claim.id)).bytes + #claim.item <= rowBytesMax
end

local function keepRow(claim)
  if claim.item == '' then return end
  local rows = Batch.rowsOf(Rollout.tenantOf(claim.id))
  rows.bytes = rows.bytes + Row.keep(claim.id, claim.row, claim.item)
end

-- The row comes with a later call, or again after Redis forgot it. Returns false if there is no room for it.
local function keepLateRow(claim, rowBytesMax)
  if claim.item == '' then return true end
  local before = Rollout.read(claim.id, 'row')
  if before and redis.call('EXISTS', key.row .. Row.rowName(claim.id, before)) == 1 then return true end
  if not rowFits(claim, rowBytesMax) then return false end
  Rollout.write(claim.id, 'hadRow', '1', 'row', claim.row, 'itemDigest', claim.itemDigest or '')
  keepRow(claim)
  return true
end

-- Returns its number in its run.
local function listInRun(id, run)
  if Rollout.isGrader(id) then return '0' end
  local known = Batch.ofRun(run)
  known.rollouts = known.rollouts + 1
  local ordinal = Batch.digits(known.rollouts)
  Batch.later('SADD', key.open .. run, id)
  Batch.later('ZADD', key.rollouts .. run, ordinal, id)
  return ordinal
end

-- What follows from a record that was just written.
local function registerRecord(claim)
  Batch.later('ZADD', key.leases, claim.leaseEndsMs, claim.id)
  keepRow(claim)
  Run.renew(claim.run, claim.face)
  Batch.keepVersion(claim.version)
end

-- The record is written in one command, because that is most of what a claim costs. What is its own comes before what its kind has.
local function writeWaiting(claim, wave)
  local ordinal = listInRun(claim.id, claim.run)
  Rollout.write(claim.id, 'wave', Batch.digits(wave), 'ordinal', ordinal, 'generation', '0', 'state', 'waiting', unpack(claim.kept))
  registerRecord(claim)
end

-- `grantToNext` (lib/grant.lua) writes the same into a record that exists. The reply leaves out what the claim itself has.
local function createHeld(claim, wave, sandbox)
  local boot, address, environment, readyMs = Grant.takeOver(claim.id, sandbox, Batch.digits(nowMs))
  Batch.leavePool(claim.template, sandbox, environment, readyMs)
  Batch.later('SADD', key.held .. claim.template, sandbox)
  Batch.later('ZADD', key.grants, Batch.digits(nowMs), claim.id)
  local ordinal = listInRun(claim.id, claim.run)
  Rollout.write(claim.id, 'wave', Batch.digits(wave), 'ordinal', ordinal, 'generation', '1', 'state', 'claimed', 'sandbox', sandbox,
    'boot', boot, 'address', address, 'launchType', 'warm', 'claimedAtMs', Batch.digits(nowMs), unpack(claim.kept))
  registerRecord(claim)
  return { kind = 'created', wave = tonumber(wave), atMs = nowMs, sandbox = sandbox, boot = boot, address = address }
end

local function createWaiting(claim, wave)
  writeWaiting(claim, wave)
  Line.join(claim.id, claim.template, nowMs)
  Batch.lineMayGrow(claim.template)
  Grant.serveLine(claim.template)
  return Presence.claimReply(claim.id)
end

-- A rollout that needs no sandbox stands in no line. If it is called after all, that call takes a place.
local function createRecord(claim, wave)
  writeWaiting(claim, wave)
  return Presence.claimReply(claim.id)
end

-- Closes the attempt before this one. Returns its wave if it never had a verdict, so that this one takes its place there.
local function supersede(claim, lower)
  Batch.write()
  local lowerId = string.gsub(claim.id, '/%d+/([^/]+)$', '/' .. lower .. '/%1')
  local state, wave, itemKey = Rollout.read(lowerId, 'state', 'wave', 'itemKey')
  local verdict = Verdict.read(lowerId)
  if state and Rollout.isOpen(state) then Ending.close(lowerId, 'closed', 'superseded') end
  if not state or itemKey ~= claim.itemKey or verdict == 'scored' or verdict == 'discarded' then return nil end
  return Run.inheritWave(claim.id, itemKey, wave)
end

local function becomeNewest(claim, newest)
  if claim.attempt == 1 then return end
  redis.call('SET', key.newest .. claim.lineage, claim.attempt)
  newest[claim.lineage] = claim.attempt
end

-- A ready sandbox, if no other rollout waits for one.
local function takeReady(template)
  return not Batch.isAwaited(template) and Grant.popReady(template)
end

-- `known`: what `readKnown` of claim.lua found.
local function open(claim, known, rowBytesMax)
  local before = known.newest[claim.lineage]
  if before > claim.attempt then return refused(claim, 'rollout_closed') end
  if known.isFull then return refused(claim, 'state_unavailable') end
  if not rowFits(claim, rowBytesMax) then return refused(claim, 'rows_full') end

  local sandbox = not claim.recordOnly and takeReady(claim.template)
  local waits = not sandbox and not claim.recordOnly
  if waits and Line.staysFull(claim.run) then return refused(claim, 'line_full') end

  local wave = before < claim.attempt and supersede(claim, before) or Batch.enterGroup(claim.id, claim.itemKey)
  becomeNewest(claim, known.newest)
  if sandbox then return createHeld(claim, wave, sandbox) end
  return waits and createWaiting(claim, wave) or createRecord(claim, wave)
end

-- The record of a grader's sandbox is next to its rollout's, in no list of its run and in no group. Its line is for graders only.
local function openGrader(claim)
  local sandbox = takeReady(claim.template)
  if not sandbox and Line.staysFull(claim.run) then return refused(claim, 'line_full') end
  Rollout.write(claim.id, 'turn', claim.turn)
  return sandbox and createHeld(claim, 0, sandbox) or createWaiting(claim, 0)
end

return { refused = refused, keepLateRow = keepLateRow, open = open, openGrader = openGrader }
