-- requires: call, ending, outage, over, record, repeat, rollout, run, setup, verdict
-- Tool calls: received → dispatched → settled, once each.

-- The time that a rollout has left. Outages are not charged to the policy, even if no gateway has reported them yet. Before
-- the first report of any gateway, the outage is infinite.
local function timeLeftMs(rolloutMs, activeAtMs, awayMs)
  local leftMs = rolloutMs - (nowMs - activeAtMs - (awayMs or 0))
  if leftMs < 0 then leftMs = leftMs + Outage.outageMs() end
  return math.min(leftMs, rolloutMs)
end

-- May this call be sent? received → dispatched. A recorded call gets its record, whatever the rollout has come to
-- since; a new one only goes out in an active rollout that is not barred and has budget and time left.
script('admit', function(ask, texts, redisRun)
  local id, call, tool, digest, timeoutMs, idleMs = ask.key, ask.call, ask.tool, ask.digest, ask.timeoutMs, ask.idleMs
  local budget, activation, arguments, setupSent = ask.budget, ask.activation, texts[1], texts[2]
  -- The most frequent script: it reads the whole rollout once.
  local has = Rollout.fieldsOf(key.rollout .. id)
  local state = has.state
  if not state then return { kind = 'not_active' } end

  -- A running command cannot idle its rollout out.
  local function extendLease()
    Rollout.leaseUntil(id, math.max(tonumber(has.leaseUntilMs), nowMs + timeoutMs + idleMs), has.hardEndMs)
    Run.renew(Rollout.runOf(id), has.face)
  end

  -- The record after what this script has written.
  local function recordNow()
    has.state, has.activeAtMs, has.calls, has.leaseUntilMs =
      Rollout.read(id, 'state', 'activeAtMs', 'calls', 'leaseUntilMs')
    return Record.of(id, has)
  end

  -- Nil without a budget. A rollout that has not begun has all of its time.
  local function leftMs()
    return budget and timeLeftMs(budget.rolloutMs, has.activeAtMs or nowMs, has.awayMs) or nil
  end

  -- A repeat attaches to its call also when the time is over; 0 keeps a call that still waits from starting. A new call has time.
  local function dispatched(again, activated)
    local left = leftMs()
    return {
      kind = 'dispatch', rollout = recordNow(), again = again, activated = activated,
      timeLeftMs = left and math.max(again and 0 or 1, math.floor(left)),
    }
  end

  local function admitAgain(summary)
    if summary[2] ~= '' and summary[2] ~= digest then return { kind = 'conflict' } end
    if Call.isSettled(summary) then
      local reply = Repeat.reply(id, summary)
      reply.call = Call.reply(id, call, summary)
      return reply
    end
    Call.addSender(summary, ask.sender)
    Call.write(id, call, summary)
    Call.keepArguments(id, call, arguments)
    -- A repeat may be sent with a shorter time than the call that it attaches to has.
    redis.call('ZADD', key.callDeadlines, 'GT', nowMs + timeoutMs, Call.overdueName(id, call))
    extendLease()
    return dispatched(true, false)
  end

  -- Bind and setup are done: claimed → active, if the sandbox is still the one that was bound. One that heals is active again when
  -- all of its set-up was replayed there.
  local activated = false
  local function activate()
    if not activation or activation.generation ~= tonumber(has.generation) or activation.boot ~= has.boot then return false end
    if has.healing then
      if not Setup.isReplayed(id, has.generation) or Setup.obstacle(id, redisRun) then return false end
      Setup.endHealing(id)
      has.healing = nil
    end
    Rollout.write(id, 'state', 'active', 'activeAtMs', nowMs)
    redis.call('ZREM', key.grants, id)
    has.activeAtMs, activated = nowMs, true
    if activation.idsApart then
      Rollout.write(id, 'idsApartIn', has.boot)
      has.idsApartIn = has.boot
    end
    return true
  end

  -- Below the 64 connections that a gateway keeps to one sandbox: what waits there for others has no known outcome in time.
  -- Above the default budget of 40 calls.
  local mostAtOnce = 48

  local function spent()
    if budget and leftMs() < 0 then return 'time_spent' end
    if budget and tonumber(has.calls) >= budget.toolCalls then return 'budget_spent' end
    if redis.call('HLEN', key.calls .. id) >= Call.callsMax then return 'budget_spent' end
    if budget and redis.call('SCARD', key.inFlight .. id) >= mostAtOnce then return 'too_many_at_once' end
  end

  local setup = ask.setup and Setup.isSure(has.placedAtMs) and ask.setup or nil

  local function dispatch()
    if setup then Setup.begin(id, call, has.hardEndMs, redisRun, setupSent, setup) elseif has.setup then Setup.leave(id) end
    local summary = { tool, digest, nowMs, 0, 'unknown', cjson.null, cjson.null, cjson.null, cjson.null, 0, 0, 0 }
    Call.addSender(summary, ask.sender)
    Call.write(id, call, summary)
    Call.callRuns(id, call, nowMs + timeoutMs)
    Call.keepArguments(id, call, arguments)
    if budget then redis.call('HINCRBY', key.rollout .. id, 'calls', 1) end
    Rollout.write(id, 'dispatched', setup and (has.dispatched or 'setup') or 1)
    extendLease()
    return dispatched(false, activated)
  end

  local known = Over.recall(id, call, state)
  if known then return admitAgain(known) end

  local barred, verdict = Verdict.barsCall(has)
  if barred then return { kind = 'barred', rollout = Record.read(id), code = barred, admitted = 'no' } end
  if setup and Setup.isOver(id) then return { kind = 'setup_over' } end
  if verdict == 'broken' then return { kind = 'broken', rollout = Record.read(id) } end
  if state == 'waiting' or (state == 'claimed' and not activate()) then
    return { kind = 'not_active', rollout = Record.read(id) }
  end

  local reason = spent()
  if reason then return { kind = 'refused', rollout = Record.read(id), reason = reason } end
  return dispatch()
end)

-- A call gets its outcome, exactly once; whoever comes later gets what was stored then. Also for calls that were
-- never dispatched: what the model got wrong is recorded like everything else, and a call that is cancelled before its admission.
script('settle', function(ask, texts)
  local id, call, outcome, code, ranIn = ask.key, ask.call, ask.outcome, ask.code, ask.ranIn
  local arguments, output, setupSent = texts[1], texts[2], texts[3]
  local state, setup, healing, heals, sandbox, unserved, leaseMs, hardEndMs, face =
    Rollout.read(id, 'state', 'setup', 'healing', 'heals', 'sandbox', 'unserved', 'leaseUntilMs', 'hardEndMs', 'face')
  if not state then return Outage.unsureCode(id) == 'recovering' and Outage.stillRecovering() or nil end

  local function storedReply(summary)
    return { first = false, tainted = false, call = Call.reply(id, call, summary), repeated = Repeat.reply(id, summary) }
  end

  -- Refusals of a spent budget cost no budget; other mistakes of the model do.
  local function countRefused()
    if outcome == 'refused' and code ~= 'budget_spent' and code ~= 'time_spent' then
      redis.call('HINCRBY', key.rollout .. id, 'calls', 1)
    end
  end

  local function fill(summary)
    summary[5], summary[6], summary[7] = ask.admitted, outcome, code or cjson.null
    summary[8], summary[9] = ask.exitCode or cjson.null, ask.durationMs or cjson.null
    summary[10], summary[11], summary[12] = ask.waitedMs, ask.outputBytes, ask.isAnswered and 1 or 0
    summary[13] = ask.text and redis.call('HLEN', key.calls .. id) < Call.textsMost and ask.text or nil
    return summary
  end

  -- The idle time begins with the last call's end, of the rollout and of its run.
  local function renewLease()
    local untilMs = nowMs + ask.idleMs
    if redis.call('SCARD', key.inFlight .. id) > 0 then untilMs = math.max(untilMs, tonumber(leaseMs)) end
    Rollout.leaseUntil(id, untilMs, hardEndMs)
    Run.renew(Rollout.runOf(id), face)
  end

  -- What was refused, or was not admitted, says nothing of its sandbox.
  local function noteServed()
    if ask.unserved then Rollout.write(id, 'unserved', 1)
    elseif unserved and ask.admitted == 'yes' and outcome ~= 'refused' then redis.call('HDEL', key.rollout .. id, 'unserved') end
  end

  local taintedNow = false

  -- What the call did to its rollout.
  local function applyConsequence()
    if ask.taint and Ending.taint(id, ask.taint) then taintedNow = true end
  end

  -- Admitted before Redis forgot it, and ran after its sandbox was asked: only this settlement tells that something ran.
  -- Where the rollout was given another sandbox meanwhile, neither has all of its state. One that was scored there already
  -- keeps its score, which the trainer has read: it graded beside a call of its own that nobody knew of any more.
  local function rememberDispatch()
    if ask.admitted == 'no' or outcome == 'refused' or Call.isRead(call) then return end
    Rollout.write(id, 'dispatched', 1)
    if Verdict.read(id) ~= 'open' then return end
    if healing or (ranIn and ranIn ~= sandbox) then
      local evidence = cjson.encode({ ran_in = ranIn or cjson.null, now_in = sandbox or cjson.null })
      taintedNow = Ending.lose(id, 'pod_replaced', evidence, true)
    elseif state == 'claimed' then
      Rollout.write(id, 'state', 'active', 'activeAtMs', nowMs)
      redis.call('ZREM', key.grants, id)
    end
  end

  local known = Over.recall(id, call, state)
  -- The id with other arguments is a conflict: whatever it came to, this is not its end.
  if known and ask.onlyNew then return storedReply(known) end
  if known and (Call.isSettled(known) or known[2] ~= ask.digest) then return storedReply(known) end

  -- An answer that was brought just now needs no way back.
  local function settledReply(summary)
    local repeated = ask.isAnswered and { kind = 'brought' } or Repeat.reply(id, summary)
    return { first = true, tainted = taintedNow, call = Call.reply(id, call, summary), repeated = repeated }
  end

  -- What was answered and admitted has run in a sandbox, also if Redis has forgotten that it was sent.
  local hasRun = ask.isAnswered and ask.admitted == 'yes'
  local summary = fill(known or { ask.tool, ask.digest, nowMs, hasRun and 1 or 0 })
  if not known and redis.call('HLEN', key.calls .. id) >= Call.callsMax then return settledReply(summary) end
  Call.write(id, call, summary)
  if known then Call.callEnded(id, call) end
  if not known then countRefused() end
  Call.countSettled(id, outcome, code)
  if Rollout.isOpen(state) then
    noteServed()
    Setup.noteUnsent(id, call, summary)
    Call.keepArguments(id, call, arguments)
    Call.keepOutput(id, call, output)
    if ask.backgroundMs then redis.call('HINCRBY', key.rollout .. id, 'backgroundMs', ask.backgroundMs) end
    if not known or (heals and ranIn and ranIn ~= sandbox) then rememberDispatch() end
    if setup then Setup.finish(id, call, ask.setup, setupSent or '', nowMs - summary[3]) end
    renewLease()
    applyConsequence()
  else
    if not known then Over.addDigest(id, call, summary) end
    Over.keepForRepeats(id)
  end
  return settledReply(summary)
end)

local function withdraw(id, call, counted)
  Call.withdraw(id, call, counted)
  Setup.unmark(id, call)
end

-- A dispatched call that its sandbox never received: dispatched → unknown, so that a repeat may be sent. Only if nobody
-- has sent it again since it was handed out as overdue: `lookAgainAtMs` is its deadline still.
script('withdraw-call', function(ask)
  local id, call = ask.key, ask.call
  local deadlineMs = redis.call('ZSCORE', key.callDeadlines, Call.overdueName(id, call))
  if tonumber(deadlineMs or 0) ~= ask.lookAgainAtMs then return false end
  withdraw(id, call, ask.counted)
  return true
end)

-- A try that was to send this call has not sent it, and removes its id; a repeat changes nothing. With the last id the call is
-- withdrawn, because no try sent it. A gateway that died leaves its id there, because it may have sent the call.
script('unsent-call', function(ask)
  local id, call = ask.key, ask.call
  local summary = Call.read(id, call)
  if not summary or Call.isSettled(summary) then return end
  if not Call.removeSender(summary, ask.sender) then return end
  if summary[4] > 0 then Call.write(id, call, summary) else withdraw(id, call, ask.counted) end
end)

-- Calls whose deadline passed `graceMs` ago and that nobody has settled. Each is handed out with the time at which it is
-- looked at again, so that two who ask do not get the same, and one that still runs is met again then.
script('overdue-calls', function(ask)
  local lookAgainAtMs, latestMs = nowMs + ask.lookAgainMs, nowMs - ask.graceMs

  local rows = {}
  for _, name in ipairs(redis.call('ZRANGEBYSCORE', key.callDeadlines, '-inf', latestMs, 'LIMIT', 0, ask.limit)) do
    local id, call = string.match(name, '^(%S+) (.*)$')
    local summary = Call.read(id, call)
    if summary and redis.call('SISMEMBER', key.inFlight .. id, call) == 1 then
      redis.call('ZADD', key.callDeadlines, lookAgainAtMs, name)
      rows[#rows + 1] =
        {
          rollout = Record.read(id), call = Call.reply(id, call, summary), lookAgainAtMs = lookAgainAtMs,
          setup = Setup.isRunning(id, call),
        }
    else
      redis.call('ZREM', key.callDeadlines, name)
    end
  end
  return rows
end)

-- What is recorded of a call, and what a repeat gets.
script('lookup-call', function(ask)
  local id, call = ask.key, ask.call
  local summary = Over.recall(id, call, (Rollout.read(id, 'state')))
  if not summary then return nil end
  local recorded = { call = Call.reply(id, call, summary), setup = Setup.isRunning(id, call) }
  if not Call.isSettled(summary) then return recorded end
  recorded.repeated = Repeat.reply(id, summary)
  return recorded
end)

-- Whether a call that waits in its sandbox may still start. Nil for a rollout that never began, or is unknown.
reading('time-left', function(ask)
  local activeAtMs, awayMs = Rollout.read(ask.key, 'activeAtMs', 'awayMs')
  return activeAtMs and math.max(0, math.floor(timeLeftMs(ask.rolloutMs, activeAtMs, awayMs))) or nil
end)

-- All recorded calls of a rollout, at most `callsMax`. `withTexts`: raw, what is kept of their texts, two of each call: its arguments and
-- its output; empty if it was not stored, or was removed.
reading('list-calls', function(ask)
  local id = ask.key
  local replies, said, texts = {}, {}, {}
  noteVerdictOf((Rollout.read(id, 'decidedAtMs')))
  local kept = ask.withTexts and redis.call('HGETALL', key.transcript .. id) or {}
  for index = 1, #kept, 2 do texts[kept[index]] = kept[index + 1] end
  local flat = redis.call('HGETALL', key.calls .. id)
  for index = 1, #flat, 2 do
    local call = flat[index]
    replies[#replies + 1] = Call.reply(id, call, cjson.decode(flat[index + 1]))
    if ask.withTexts then said[#said + 1], said[#said + 2] = texts['a ' .. call] or '', texts['o ' .. call] or '' end
  end
  return replies, said
end)
