-- requires: call, ending, outage, over, rollout, run
-- Tool calls: received → dispatched → settled, once each.

-- May this call be sent? received → dispatched. A recorded call gets its record, whatever the rollout has come to
-- since; a new one only goes out in an active rollout that is not barred and has budget and time left.
script('admit', function(ARGV)
  local id, call, tool, digest, timeoutMs, idleMs, toolCalls, rolloutMs, generation, boot, arguments = unpack(ARGV, 2)
  local counted = toolCalls ~= ''
  local state, face, taintCode, closedBy, broken = Rollout.read(id, 'state', 'face', 'taintCode', 'closedBy', 'broken')
  if not state then return { 'not_active', false } end

  -- A running command cannot idle its rollout out.
  local function extendLease()
    local leaseMs, hardEndMs = Rollout.read(id, 'leaseUntilMs', 'hardEndMs')
    Rollout.leaseUntil(id, math.max(tonumber(leaseMs), nowMs + timeoutMs + idleMs), hardEndMs)
    Run.renew(Rollout.runOf(id), face)
  end

  local function settledReply(summary, text)
    local reply = Call.reply(id, call, summary, text)
    if summary[7] == 'sandbox_broken' and summary[12] == 0 then return { 'broken', Rollout.record(id) } end
    if summary[6] == 'completed' and summary[12] == 0 then return { 'answer_expired', false, reply } end
    if summary[12] == 0 then
      local own = summary[7] ~= cjson.null and summary[7]
      local code = taintCode or own or Rollout.barredCode(state, taintCode, closedBy) or 'outcome_unknown'
      return { 'barred', Rollout.record(id), code, summary[5] }
    end
    local answer = redis.call('HGET', key.answers .. id, call)
    if not answer then return { 'answer_expired', false, reply } end
    return { 'settled', false, reply, answer }
  end

  local function admitAgain(summary, text)
    if summary[2] ~= '' and summary[2] ~= digest then return { 'conflict', false } end
    if Call.isSettled(summary) then return settledReply(summary, text) end
    summary[4] = summary[4] + 1
    Call.write(id, call, summary)
    Call.keepArguments(id, call, arguments)
    -- A repeat may be sent with a shorter time than the call that it attaches to has.
    redis.call('ZADD', key.callDeadlines, 'GT', nowMs + timeoutMs, Call.overdueName(id, call))
    extendLease()
    return { 'dispatch', Rollout.record(id), 1, 0 }
  end

  -- Bind and setup are done: claimed → active, if the sandbox is still the one that was bound.
  local activated = 0
  local function activate()
    local currentGeneration, currentBoot = Rollout.read(id, 'generation', 'boot')
    if generation ~= currentGeneration or boot ~= currentBoot then return false end
    Rollout.write(id, 'state', 'active', 'activeAtMs', nowMs)
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
    return spentMs > tonumber(rolloutMs) and spentMs - Outage.outageMs() or spentMs
  end

  local function spent()
    local activeAtMs, calls, awayMs = Rollout.read(id, 'activeAtMs', 'calls', 'awayMs')
    if counted and timeSpentMs(activeAtMs, awayMs) > tonumber(rolloutMs) then return 'time_spent' end
    if counted and tonumber(calls) >= tonumber(toolCalls) then return 'budget_spent' end
    if redis.call('HLEN', key.calls .. id) >= Call.callsMax then return 'budget_spent' end
    if counted and redis.call('SCARD', key.inFlight .. id) >= mostAtOnce then return 'too_many_at_once' end
  end

  local function dispatch()
    Call.write(id, call, { tool, digest, nowMs, 1, 'unknown', cjson.null, cjson.null, cjson.null, cjson.null, 0, 0, 0 })
    Call.callRuns(id, call, nowMs + timeoutMs)
    Call.keepArguments(id, call, arguments)
    if counted then redis.call('HINCRBY', key.rollout .. id, 'calls', 1) end
    -- Reading a file changes nothing; a command or a file of the trainer's own may be whatever the policy asked it for.
    if counted or tool == 'get_file' then
      Rollout.write(id, 'dispatched', 1)
    else
      Rollout.write(id, 'dispatched', 1, 'trainerActed', 1)
    end
    extendLease()
    return { 'dispatch', Rollout.record(id), 0, activated }
  end

  local known, text = Over.recall(id, call, state)
  if known then return admitAgain(known, text) end

  local barred = Rollout.barredCode(state, taintCode, closedBy)
  if not barred and state == 'grading' then barred = 'rollout_closed' end
  if not barred and nowMs >= tonumber((Rollout.read(id, 'hardEndMs'))) then barred = 'rollout_expired' end
  if barred then return { 'barred', Rollout.record(id), barred, 'no' } end
  if broken then return { 'broken', Rollout.record(id) } end
  if state == 'waiting' or (state == 'claimed' and not activate()) then return { 'not_active', Rollout.record(id) } end

  local reason = spent()
  if reason then return { 'refused', Rollout.record(id), reason } end
  return dispatch()
end)

-- A call gets its outcome, exactly once; whoever comes later gets what was stored then. Also for calls that were
-- never dispatched: what the model got wrong is recorded like everything else.
script('settle', function(ARGV)
  local id, call, digest, tool, outcome, code, admitted, exitCode, durationMs, waitedMs, outputBytes, answer,
    taintCode, taintEvidence, idleMs, ranIn, arguments, output = unpack(ARGV, 2)
  local state = Rollout.read(id, 'state')
  if not state then return Outage.unsureCode(id) == 'recovering' and Outage.stillRecovering() or false end

  local function numberOrNull(text)
    return text ~= '' and tonumber(text) or cjson.null
  end

  local function storedReply(summary, text)
    return { 0, redis.call('HGET', key.answers .. id, call), Call.reply(id, call, summary, text) }
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
    local leaseMs, hardEndMs = Rollout.read(id, 'leaseUntilMs', 'hardEndMs')
    local untilMs = nowMs + idleMs
    if redis.call('SCARD', key.inFlight .. id) > 0 then untilMs = math.max(untilMs, tonumber(leaseMs)) end
    Rollout.leaseUntil(id, untilMs, hardEndMs)
  end

  local taintedNow = 0

  -- A taint is final, a stored score was told and stands, and what the model broke is not ours to taint.
  local function isDecided()
    local tainted, alreadyBroken, score = Rollout.read(id, 'taintCode', 'broken', 'score')
    return tainted or alreadyBroken or score
  end

  -- What the call did to its rollout.
  local function applyConsequence()
    if isDecided() then return end
    if taintCode ~= '' then Ending.taint(id, taintCode, '', taintEvidence, true) end
    taintedNow = taintCode ~= '' and 1 or 0
  end

  -- Admitted before Redis forgot it, and ran after its sandbox was asked: only this settlement tells that something ran.
  -- Where the rollout was given another sandbox meanwhile, neither has all of its state. One that was scored there already
  -- keeps its score, which the trainer has read: it graded beside a call of its own that nobody knew of any more.
  local function rememberDispatch()
    if admitted == 'no' or outcome == 'refused' then return end
    Rollout.write(id, 'dispatched', 1)
    if isDecided() then return end
    local sandbox = Rollout.read(id, 'sandbox')
    if ranIn ~= '' and ranIn ~= sandbox then
      local evidence = cjson.encode({ ran_in = ranIn, now_in = sandbox or cjson.null })
      Ending.taintAsLost(id, 'pod_replaced', evidence, true)
      taintedNow = 1
    elseif state == 'claimed' then
      Rollout.write(id, 'state', 'active', 'activeAtMs', nowMs)
      redis.call('ZREM', key.grants, id)
    end
  end

  local known, text = Over.recall(id, call, state)
  -- The id with other arguments is a conflict: whatever it came to, this is not its end.
  if known and (Call.isSettled(known) or known[2] ~= digest) then return storedReply(known, text) end

  local summary = fill(known or { tool, digest, nowMs, 0 })
  if not known and redis.call('HLEN', key.calls .. id) >= Call.callsMax then
    return { 1, answer ~= '' and answer, Call.reply(id, call, summary, cjson.encode(summary)) }
  end
  local stored = Call.write(id, call, summary)
  if known then Call.callEnded(id, call) end
  if answer ~= '' then Call.keepAnswer(id, call, answer) end
  if not known then countRefused() end
  Call.countSettled(id, outcome, code ~= '' and code)
  if Rollout.isOpen(state) then
    Call.keepArguments(id, call, arguments)
    Call.keepOutput(id, call, output)
    if not known then rememberDispatch() end
    renewLease()
    applyConsequence()
  else
    if not known then Over.addDigest(id, call, summary) end
    Over.keepForRepeats(id)
  end
  return { 1, answer ~= '' and answer, Call.reply(id, call, summary, stored), taintedNow }
end)

-- A dispatched call that its sandbox never received: dispatched → unknown, so that a repeat may be sent. Only if nobody
-- has sent it again since it was handed out as overdue: `lookAgainAtMs` is its deadline still.
script('withdraw-call', function(ARGV)
  local id, call, counted, lookAgainAtMs = unpack(ARGV, 2)
  local deadlineMs = redis.call('ZSCORE', key.callDeadlines, Call.overdueName(id, call))
  if tonumber(deadlineMs or 0) ~= tonumber(lookAgainAtMs) then return 0 end
  Call.withdraw(id, call, counted)
  return 1
end)

-- One of those who were told to send this call has not sent it, and takes its word for having been told back. When all have,
-- nobody ever sent it. One that died with it leaves its word there: nobody knows what it did.
script('unsent-call', function(ARGV)
  local id, call, counted = unpack(ARGV, 2)
  local summary = Call.read(id, call)
  if not summary or Call.isSettled(summary) then return 0 end
  summary[4] = summary[4] - 1
  if summary[4] > 0 then Call.write(id, call, summary) else Call.withdraw(id, call, counted) end
  return 1
end)

-- Calls whose deadline passed `graceMs` ago and that nobody has settled. Each is handed out with the time at which it is
-- looked at again, so that two who ask do not get the same, and one that still runs is met again then.
script('overdue-calls', function(ARGV)
  local graceMs, lookAgainMs, limit = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
  local lookAgainAtMs = nowMs + lookAgainMs

  local rows = {}
  for _, name in ipairs(redis.call('ZRANGEBYSCORE', key.callDeadlines, '-inf', nowMs - graceMs, 'LIMIT', 0, limit)) do
    local id, call = string.match(name, '^(%S+) (.*)$')
    local summary, text = Call.read(id, call)
    if summary and redis.call('SISMEMBER', key.inFlight .. id, call) == 1 then
      redis.call('ZADD', key.callDeadlines, lookAgainAtMs, name)
      rows[#rows + 1] = { Rollout.record(id), Call.reply(id, call, summary, text), lookAgainAtMs }
    else
      redis.call('ZREM', key.callDeadlines, name)
    end
  end
  return rows
end)

-- What is recorded of a call, with its answer while that is kept.
script('lookup-call', function(ARGV)
  local id, call = unpack(ARGV, 2)
  local summary, text = Over.recall(id, call, (Rollout.read(id, 'state')))
  if not summary then return false end
  return { Call.reply(id, call, summary, text), redis.call('HGET', key.answers .. id, call) }
end)

-- All recorded calls of a rollout, at most `callsMax`.
script('list-calls', function(ARGV)
  local id = ARGV[2]
  local replies = {}
  local flat = redis.call('HGETALL', key.calls .. id)
  for index = 1, #flat, 2 do
    replies[#replies + 1] = Call.reply(id, flat[index], cjson.decode(flat[index + 1]), flat[index + 1])
  end
  return replies
end)

-- The same with what is kept of their texts: false where nobody has told it, or it was forgotten.
reading('read-transcript', function(ARGV)
  local id = ARGV[2]
  local replies, texts = {}, {}
  local kept = redis.call('HGETALL', key.transcript .. id)
  for index = 1, #kept, 2 do texts[kept[index]] = kept[index + 1] end
  local flat = redis.call('HGETALL', key.calls .. id)
  for index = 1, #flat, 2 do
    local call = flat[index]
    local reply = Call.reply(id, call, cjson.decode(flat[index + 1]), flat[index + 1])
    replies[#replies + 1] = { reply, texts['a ' .. call] or false, texts['o ' .. call] or false }
  end
  return replies
end)
