-- A call gets its outcome, exactly once; whoever comes later gets what was stored then. Also for calls that were
-- never dispatched: what the model got wrong is recorded like everything else.
local id, call, digest, tool, outcome, code, admitted, exitCode, durationMs, waitedMs, outputBytes, answer,
  taintCode, taintEvidence, broken, idleMs, ranIn = unpack(ARGV, 2)
local state = read(id, 'state')
if not state then return unsureCode(id) == 'recovering' and stillRecovering() or false end

local function numberOrNull(text)
  return text ~= '' and tonumber(text) or cjson.null
end

local function storedReply(summary, text)
  return { 0, redis.call('HGET', key.answers .. id, call), callReply(id, call, summary, text) }
end

-- Refusals of a spent budget cost no budget; other mistakes of the model do.
local function countRefused()
  if outcome == 'refused' and code ~= 'budget_spent' and code ~= 'time_spent' then
    redis.call('HINCRBY', key.rollout .. id, 'calls', 1)
  end
end

local function fill(summary)
  summary[5], summary[6], summary[7] = admitted, outcome, code ~= '' and code or cjson.null
  summary[8], summary[9] = numberOrNull(exitCode), numberOrNull(durationMs)
  summary[10], summary[11], summary[12] = tonumber(waitedMs), tonumber(outputBytes), answer ~= '' and 1 or 0
  return summary
end

-- The idle time begins with the last call's end.
local function renewLease()
  local leaseMs, hardEndMs = read(id, 'leaseUntilMs', 'hardEndMs')
  local untilMs = nowMs + idleMs
  if redis.call('SCARD', key.inFlight .. id) > 0 then untilMs = math.max(untilMs, tonumber(leaseMs)) end
  leaseUntil(id, untilMs, hardEndMs)
end

local taintedNow = 0

-- What the call did to its rollout. A stored score stands, and what the model broke is not ours to taint.
local function applyConsequence()
  local tainted, alreadyBroken, score = read(id, 'taintCode', 'broken', 'score')
  if tainted or alreadyBroken or score then return end
  if broken ~= '' then write(id, 'broken', broken) end
  if taintCode ~= '' then taint(id, taintCode, '', taintEvidence, true) end
  taintedNow = taintCode ~= '' and 1 or 0
end

-- Admitted before Redis forgot it, and ran after its sandbox was asked: only this settlement tells that something ran.
-- Where the rollout was given another sandbox meanwhile, neither has all of its state.
local function rememberDispatch()
  if admitted == 'no' or outcome == 'refused' then return end
  write(id, 'dispatched', 1)
  local sandbox = read(id, 'sandbox')
  if ranIn ~= '' and ranIn ~= sandbox then
    local evidence = cjson.encode({ ran_in = ranIn, now_in = sandbox or cjson.null })
    taint(id, 'sandbox_lost', 'pod_replaced', evidence, true)
    taintedNow = 1
  elseif state == 'claimed' then
    write(id, 'state', 'active', 'activeAtMs', nowMs)
    redis.call('ZREM', key.grants, id)
  end
end

local known, text = recall(id, call, state)
-- The id with other arguments is a conflict: whatever it came to, this is not its end.
if known and (isSettled(known) or known[2] ~= digest) then return storedReply(known, text) end

local summary = fill(known or { tool, digest, nowMs, 0 })
if not known and redis.call('HLEN', key.calls .. id) >= callsMax then
  return { 1, answer ~= '' and answer, callReply(id, call, summary, cjson.encode(summary)) }
end
local stored = writeCall(id, call, summary)
if known then landed(id, call) end
if answer ~= '' then keepAnswer(id, call, answer) end
if not known then countRefused() end
countSettled(id, outcome, code ~= '' and code)
if isOpen(state) then
  if not known then rememberDispatch() end
  renewLease()
  applyConsequence()
else
  if not known then addDigest(id, call, summary) end
  keepForRepeats(id)
end
return { 1, answer ~= '' and answer, callReply(id, call, summary, stored), taintedNow }
