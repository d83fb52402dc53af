-- May this call be sent? received → dispatched. A recorded call gets its record, whatever the rollout has come to
-- since; a new one only goes out in an active rollout that is not barred and has budget and time left.
local id, call, tool, digest, timeoutMs, idleMs, toolCalls, rolloutMs, generation, boot = unpack(ARGV, 2)
local counted = toolCalls ~= ''
local state, face, taintCode, closedBy, broken = read(id, 'state', 'face', 'taintCode', 'closedBy', 'broken')
if not state then return { 'not_active', false } end

-- A running command cannot idle its rollout out.
local function extendLease()
  local leaseMs, hardEndMs = read(id, 'leaseUntilMs', 'hardEndMs')
  leaseUntil(id, math.max(tonumber(leaseMs), nowMs + timeoutMs + idleMs), hardEndMs)
  renewRun(runOf(id), face)
end

local function settledReply(summary, text)
  local reply = callReply(id, call, summary, text)
  if summary[7] == 'sandbox_broken' and summary[12] == 0 then return { 'broken', record(id) } end
  if summary[6] == 'completed' and summary[12] == 0 then return { 'answer_expired', false, reply } end
  if summary[12] == 0 then
    local own = summary[7] ~= cjson.null and summary[7]
    local code = taintCode or own or barredCode(state, taintCode, closedBy) or 'outcome_unknown'
    return { 'barred', record(id), code, summary[5] }
  end
  local answer = redis.call('HGET', key.answers .. id, call)
  if not answer then return { 'answer_expired', false, reply } end
  return { 'settled', false, reply, answer }
end

local function admitAgain(summary, text)
  if summary[2] ~= '' and summary[2] ~= digest then return { 'conflict', false } end
  if isSettled(summary) then return settledReply(summary, text) end
  summary[4] = summary[4] + 1
  writeCall(id, call, summary)
  -- A repeat may be sent with a shorter time than the call that it attaches to has.
  redis.call('ZADD', key.callDeadlines, 'GT', nowMs + timeoutMs, overdueName(id, call))
  extendLease()
  return { 'dispatch', record(id), 1, 0 }
end

-- Bind and setup are done: claimed → active, if the sandbox is still the one that was bound.
local activated = 0
local function activate()
  local currentGeneration, currentBoot = read(id, 'generation', 'boot')
  if generation ~= currentGeneration or boot ~= currentBoot then return false end
  write(id, 'state', 'active', 'activeAtMs', nowMs)
  redis.call('ZREM', key.grants, id)
  activated = 1
  return true
end

-- Below the 64 connections that a gateway keeps to one sandbox: what waits there for others has no known outcome in time.
-- Above the default budget of 40 calls.
local mostAtOnce = 48

-- Time in which nobody could reach us is not the policy's; an outage of which no gateway has spoken yet is not, either.
local function timeSpentMs(activeAtMs, awayMs)
  local spentMs = nowMs - activeAtMs - (awayMs or 0)
  return spentMs > tonumber(rolloutMs) and spentMs - outageMs() or spentMs
end

local function spent()
  local activeAtMs, calls, awayMs = read(id, 'activeAtMs', 'calls', 'awayMs')
  if counted and timeSpentMs(activeAtMs, awayMs) > tonumber(rolloutMs) then return 'time_spent' end
  if counted and tonumber(calls) >= tonumber(toolCalls) then return 'budget_spent' end
  if redis.call('HLEN', key.calls .. id) >= callsMax then return 'budget_spent' end
  if counted and redis.call('SCARD', key.inFlight .. id) >= mostAtOnce then return 'too_many_at_once' end
end

local function dispatch()
  writeCall(id, call, { tool, digest, nowMs, 1, 'unknown', cjson.null, cjson.null, cjson.null, cjson.null, 0, 0, 0 })
  flies(id, call, nowMs + timeoutMs)
  if counted then redis.call('HINCRBY', key.rollout .. id, 'calls', 1) end
  -- Reading a file changes nothing; a command or a file of the trainer's own may be whatever the policy asked it for.
  if counted or tool == 'get_file' then
    write(id, 'dispatched', 1)
  else
    write(id, 'dispatched', 1, 'trainerActed', 1)
  end
  extendLease()
  return { 'dispatch', record(id), 0, activated }
end

local known, text = recall(id, call, state)
if known then return admitAgain(known, text) end

local barred = barredCode(state, taintCode, closedBy)
if not barred and state == 'grading' then barred = 'rollout_closed' end
if not barred and nowMs >= tonumber((read(id, 'hardEndMs'))) then barred = 'rollout_expired' end
if barred then return { 'barred', record(id), barred, 'no' } end
if broken then return { 'broken', record(id) } end
if state == 'waiting' or (state == 'claimed' and not activate()) then return { 'not_active', record(id) } end

local reason = spent()
if reason then return { 'refused', record(id), reason } end
return dispatch()
