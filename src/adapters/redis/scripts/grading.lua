-- requires: call, ending, gateway, line, record, rollout, row, run, sandbox, setup, verdict
-- Gradings: one turn at a time, a score is stored once, and what can never be scored says why.

-- Turns of a rollout. A platform asks for a grade three times before it drops the rollout: a grader that failed for a moment has
-- each of them, and one that always fails ends as a discard that tells why. `mostTurns` in grade-rollout.ts is the same.
local turnsMax = 3

-- Turns that were used up since the policy broke its sandbox, if it did.
local function turnsUsed(id)
  local turn, before = Rollout.read(id, 'gradeTurn', 'turnsBefore')
  return tonumber(turn or 0) - tonumber(before or 0)
end

-- A request for a grade renews the run. A lease ends the place of a rollout; a late grade does not bring it back.
local function extendLease(id, untilMs)
  local state, hardEndMs, leaseMs, face = Rollout.read(id, 'state', 'hardEndMs', 'leaseUntilMs', 'face')
  if not Rollout.isOpen(state) then return end
  Rollout.leaseUntil(id, math.max(tonumber(leaseMs), untilMs), hardEndMs)
  Run.renew(Rollout.runOf(id), face)
end

-- A turn has ended: idle time begins, of the rollout and of its run.
local function idleFromNow(id, idleMs, hardEndMs, face)
  Rollout.leaseUntil(id, nowMs + idleMs, hardEndMs)
  Run.renew(Rollout.runOf(id), face)
end

-- Begins a turn of grading. From here on new call ids are refused; one turn at a time, three at most, never after a discard.
-- Who asks again under the same name (`by`) has not heard that the turn is its own, and would wait for itself.
script('begin-grade', function(ask, _, redisRun)
  local id, by = ask.key, ask.by
  local state, score, turn, gradeUntilMs, gradeBy, template, sandbox, idleMs =
    Rollout.read(id, 'state', 'score', 'gradeTurn', 'gradeUntilMs', 'gradeBy', 'template', 'sandbox', 'idleMs')
  local verdict, _, at = Verdict.read(id)

  -- A rollout without calls may be graded where it stands: its grader may need no sandbox.
  local function enterGrading()
    if state == 'waiting' then Line.leave(id, template) end
    redis.call('ZREM', key.grants, id)
    Setup.leave(id)
    Rollout.write(id, 'state', 'grading')
  end

  -- A turn without a report ends at its deadline. If it was the last one, only this script can decide: its process died, or a
  -- sandbox that its policy starved kept it until then. A broken rollout has parts left that only a judge can fail, for what the
  -- policy answered.
  local function barUsedUp()
    local suspected = verdict == 'broken' and 'answer' or ask.inSandbox and 'command' or nil
    local isFirst = Ending.discard(id, 'give_up', { code = 'grader_failed', suspected = suspected })
    return { kind = 'barred', code = Verdict.barred(id), first = isFirst, rollout = Record.read(id) }
  end

  local function run()
    Rollout.write(id, 'gradeUntilMs', nowMs + ask.gradeMs)
    extendLease(id, nowMs + ask.gradeMs + (idleMs or 0))
    return { kind = 'run', turn = tonumber(turn), rollout = Record.read(id) }
  end

  local function beginTurn()
    Ending.dropGrader(Rollout.graderOf(id))
    turn = redis.call('HINCRBY', key.rollout .. id, 'gradeTurn', 1)
    Rollout.write(id, 'gradeBy', by)
    return run()
  end

  if not state then return { kind = 'barred', code = 'rollout_unknown', first = false } end
  if verdict == 'scored' then return { kind = 'scored', score = score, rollout = Record.read(id) } end
  local barred = Verdict.barsGrade(id)
  if barred then return { kind = 'barred', code = barred, first = false, rollout = Record.read(id) } end
  if Gateway.delaysVerdict(id) then return Gateway.stillDoubtful() end
  -- Not all of its set-up is in its sandbox, and nothing of its policy either: as without set-up, its loss decides.
  local isHalfHealed = at.healing and
    (state == 'waiting' or not Setup.isReplayed(id, (Rollout.read(id, 'generation'))) or Setup.obstacle(id, redisRun))
  if isHalfHealed then
    local evidence = cjson.encode({ replay = 'it was graded before its set-up was replayed' })
    local isFirst = Ending.lose(id, at.healing, evidence, false)
    return { kind = 'barred', code = Verdict.barred(id), first = isFirst, rollout = Record.read(id) }
  end
  -- Who asks lives in a sandbox, but a replica that was promoted since may not know of it, or it was lost before anything had
  -- run there and another was granted, in which nobody lives yet.
  local isElsewhere = ask.seenIn and ask.seenIn ~= sandbox
  if ask.inSandbox and verdict == 'open' and (state == 'waiting' or isElsewhere) then return { kind = 'waiting' } end
  if state ~= 'grading' and Rollout.isOpen(state) then enterGrading() end
  if sandbox and Sandbox.isUnread(sandbox) then return { kind = 'wait', on = 'journal' } end
  if Call.delaysGrade(id) then return { kind = 'wait', on = 'calls' } end
  if tonumber(gradeUntilMs or 0) > nowMs then return gradeBy == by and run() or { kind = 'wait', on = 'grader' } end
  if turnsUsed(id) >= turnsMax then return barUsedUp() end
  return beginTurn()
end)

-- A score is stored once and never recomputed. On the RFT face nothing more can come, so it closes the rollout.
script('store-score', function(ask)
  local id, score = ask.key, ask.score
  local state, face, stored, turn, idleMs, hardEndMs =
    Rollout.read(id, 'state', 'face', 'score', 'gradeTurn', 'idleMs', 'hardEndMs')

  if not state then return { kind = 'forgotten' } end
  if Verdict.read(id) == 'scored' then return { kind = 'later', score = stored } end
  local barred = Verdict.barsGrade(id)
  if barred then return { kind = 'barred', code = barred } end
  -- As with a rollout that is not known, a turn that is not was begun before Redis forgot it: it is to be graded again.
  if ask.turn > tonumber(turn or 0) then return { kind = 'forgotten' } end

  Verdict.change(id, 'score', { score = score, detail = ask.detail })
  Rollout.write(id, 'gradeUntilMs', 0)
  if Rollout.isOpen(state) then
    idleFromNow(id, idleMs, hardEndMs, face)
    if face == 'rft' then Ending.close(id, 'closed', 'scored') end
  else
    Row.giveBack(id)
  end
  return { kind = 'first', score = score }
end)

-- What this turn's graders look at was taken out of the rollout's sandbox: while the turn lasts, nothing depends on that.
script('artifacts-taken', function(ask)
  local turn = Rollout.read(ask.key, 'gradeTurn')
  if tonumber(turn) == ask.turn then Rollout.write(ask.key, 'takenTurn', turn) end
end)

-- A turn is done with its grader's sandbox. One that a later turn has claimed is not its to let go.
script('release-grader', function(ask)
  if tonumber((Rollout.read(ask.grader, 'turn'))) == ask.turn then Ending.dropGrader(ask.grader) end
end)

-- A turn of grading failed; says how many turns are left, and the record. The last one decides: the rollout is discarded. A mark of an
-- earlier turn stays, because what the policy may have caused then may also be why the last one failed.
script('fail-grade', function(ask)
  local id = ask.key
  local state, current, idleMs, hardEndMs, face = Rollout.read(id, 'state', 'gradeTurn', 'idleMs', 'hardEndMs', 'face')
  if not state or not current then return { turnsLeft = turnsMax } end -- begun before Redis forgot it
  if ask.turn == tonumber(current) and Verdict.read(id) ~= 'scored' and not Verdict.barsGrade(id) then
    local former = cjson.decode(Rollout.read(id, 'gradeEvidence') or '{}').suspected
    Rollout.write(id, 'gradeUntilMs', 0)
    if ask.suspected or not former then Rollout.write(id, 'gradeEvidence', ask.evidence) end
    if Rollout.isOpen(state) then idleFromNow(id, idleMs, hardEndMs, face) end
    if turnsUsed(id) >= turnsMax then
      Ending.discard(id, 'give_up', { code = 'grader_failed', suspected = ask.suspected or former, evidence = ask.evidence, bySandbox = ask.bySandbox })
    end
  end
  return { turnsLeft = math.max(0, turnsMax - turnsUsed(id)), rollout = Record.read(id) }
end)

-- The rollout can never be scored: calls that the platform names never arrived (`unseen`), or the judge of this turn cannot be
-- believed, and no other turn would be (`distrust`). Says what its verdict is now, and whether this decided it.
script('discard-rollout', function(ask)
  local id, turn = ask.key, ask.turn
  local state, current = Rollout.read(id, 'state', 'gradeTurn')
  if not state then return { first = false } end
  local isFirst = (not turn or turn == tonumber(current)) and Ending.discard(id, ask.why, { code = ask.code, evidence = ask.evidence })
  if isFirst and turn then Rollout.write(id, 'gradeUntilMs', 0) end
  return { first = isFirst, rollout = Record.read(id) }
end)
