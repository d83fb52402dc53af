-- requires: batch, ending, grant, opening, outage, presence, rollout, verdict
-- Calls of rollouts claim sandboxes: the first claim of a rollout opens it (lib/opening.lua), and every repeat follows the first. One run
-- of this script serves all claims of a moment, in four steps: which claims come, which are known, which are served, what is written.
-- Rollouts of a group claim the same but for their ids. So the claims come as kinds, each once; a claim is its rollout and the number
-- of its kind. Raw follows the dataset row of each kind, empty if it has none.

-- `said.fields`: texts by the names of a rollout's fields; none is empty. `kept` becomes part of each record.
local function kindOf(said, item)
  local kind = said.fields
  local leaseUntilMs, hardEndMs = nowMs + kind.idleMs, nowMs + kind.hardLifeMs
  kind.item, kind.recordOnly, kind.turn = item, said.recordOnly, said.turn
  kind.leaseEndsMs = Batch.digits(math.min(leaseUntilMs, hardEndMs))
  kind.kept = {
    'calls', '0', 'placedAtMs', Batch.digits(nowMs), 'leaseUntilMs', Batch.digits(leaseUntilMs), 'hardEndMs', Batch.digits(hardEndMs),
  }
  for _, field in ipairs(claimedFields) do
    if kind[field] then kind.kept[#kind.kept + 1], kind.kept[#kind.kept + 2] = field, kind[field] end
  end
  return kind
end

-- First step. A claim of the second step on is its kind's table, which has the id of one claim after the other.
local function kindsOf(asked, rowTexts)
  local kinds = {}
  for number, said in ipairs(asked) do kinds[number] = kindOf(said, rowTexts[number]) end
  return kinds
end

-- True if a rollout has a record already, or gets it before its second claim of this batch.
local function isAnyKnown(claims)
  local records, seen, claimedTwice = {}, {}, false
  for position, claim in ipairs(claims) do
    records[position] = key.rollout .. claim.key
    claimedTwice = claimedTwice or seen[claim.key] == true
    seen[claim.key] = true
  end
  return claimedTwice or redis.call('EXISTS', unpack(records)) > 0
end

-- Second step: what all claims need to know, read at once. `newest`: the newest attempt of each lineage.
local function readKnown(claims)
  local known = { lineages = {}, attempts = {}, newest = {} }
  local newestKeys = {}
  for position, claim in ipairs(claims) do
    known.lineages[position], known.attempts[position] = Rollout.lineageOf(claim.key)
    newestKeys[position] = key.newest .. known.lineages[position]
  end
  for position, attempt in ipairs(redis.call('MGET', unpack(newestKeys))) do
    known.newest[known.lineages[position]] = tonumber(attempt or 1)
  end
  known.isAnyKnown = isAnyKnown(claims)
  known.isFull = redis.call('EXISTS', key.full) == 1
  known.isAnyUnsure = redis.call('EXISTS', key.unsure, key.nameless) > 0
  return known
end

local function claimAgain(claim, state, rowBytesMax)
  if Rollout.isOpen(state) then
    if not Opening.keepLateRow(claim, rowBytesMax) then return Opening.refused(claim, 'rows_full') end
    if claim.recordOnly then return Presence.claimReply(claim.id) end
    local code = Presence.stillHere(claim.id)
    if code then return Opening.refused(claim, code) end
    Batch.lineMayGrow(claim.template)
    Grant.serveLine(claim.template)
  end
  return Presence.claimReply(claim.id)
end

-- A grader may claim only for the current turn: the sandbox of a turn that was given up would be a later turn's.
local function isTurnOver(claim)
  local id = Rollout.rolloutOf(claim.id)
  local state, turn, gradeUntilMs = Rollout.read(id, 'state', 'gradeTurn', 'gradeUntilMs')
  return state ~= 'grading' or Verdict.barred(id) or tonumber(turn) ~= claim.turn or tonumber(gradeUntilMs or 0) <= nowMs
end

local function claimGrader(claim, rowBytesMax)
  if isTurnOver(claim) then return Opening.refused(claim, 'grader_failed') end
  local state, turn = Rollout.read(claim.id, 'state', 'turn')
  if state and tonumber(turn) ~= claim.turn then
    Batch.write()
    Ending.dropGrader(claim.id)
    state = nil
  end
  return state and claimAgain(claim, state, rowBytesMax) or Opening.openGrader(claim)
end

-- As in claiming/claim-request.ts, where the digest is made.
local function isOtherItem(one, other)
  local pattern = '^(%d+):(%x+):(%x*)$'
  local format, fields, itemId = string.match(one or '', pattern)
  local otherFormat, otherFields, otherId = string.match(other or '', pattern)
  if not format or format ~= otherFormat then return false end
  return fields ~= otherFields or (itemId ~= '' and otherId ~= '' and itemId ~= otherId)
end

-- Third step, for one claim.
local function serve(claim, known, rowBytesMax)
  if Rollout.isGrader(claim.id) then return claimGrader(claim, rowBytesMax) end
  local environment, state, itemDigest
  if known.isAnyKnown then environment, state, itemDigest = Rollout.read(claim.id, 'environment', 'state', 'itemDigest') end
  local hasEnded = state and not Rollout.isOpen(state)
  if Batch.ofRun(claim.run).closed and not hasEnded then return Opening.refused(claim, 'run_closed') end
  if not environment then
    local code = known.isAnyUnsure and Outage.unsureCode(claim.id)
    return code and Opening.refused(claim, code) or Opening.open(claim, known, rowBytesMax)
  end
  if environment ~= claim.environment then return Opening.refused(claim, 'environment_mismatch') end
  if isOtherItem(itemDigest, claim.itemDigest) then return Opening.refused(claim, 'item_mismatch') end
  return claimAgain(claim, state, rowBytesMax)
end

script('claim', function(ask, rowTexts)
  Batch.begin()
  local kinds, known, replies = kindsOf(ask.kinds, rowTexts), readKnown(ask.claims), {}
  for position, asked in ipairs(ask.claims) do
    local claim = kinds[asked.kind]
    claim.id, claim.run = asked.key, Rollout.runOf(asked.key)
    claim.lineage, claim.attempt = known.lineages[position], known.attempts[position]
    -- A reply with a fresh verdict waits for a replica. That claim is asked for again alone, so that the others do not wait.
    hasFreshVerdict = false
    replies[position] = serve(claim, known, ask.rowBytesMax)
    if hasFreshVerdict and #ask.claims > 1 then replies[position], hasFreshVerdict = { kind = 'apart' }, false end
  end
  Batch.write()
  return replies
end)
