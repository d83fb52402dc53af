-- requires: ending, line, rollout, run
-- Gradings: one turn at a time, a score is stored once, and what can never be scored says why.

-- Turns of a rollout. A platform asks for a grade three times before it drops the rollout: a grader that failed for a moment has
-- each of them, and one that always fails ends as a discard that tells why. `mostTurns` in grade-rollout.ts is the same.
local turnsMax = 3

-- Begins a turn of grading. From here on new call ids are refused; one turn at a time, three at most, never after taint.
-- Who asks again under the same name (`by`) has not heard that the turn is its own, and would wait for itself.
script('begin-grade', function(ask)
  local id, by = ask.key, ask.by
  local state, taintCode, closedBy, score, turn, gradeUntilMs, gradeBy, template, sandbox =
    Rollout.read(id, 'state', 'taintCode', 'closedBy', 'score', 'gradeTurn', 'gradeUntilMs', 'gradeBy', 'template', 'sandbox')

  -- A rollout without calls may be graded where it stands: its grader may need no sandbox.
  local function enterGrading()
    if state == 'waiting' then Line.leave(id, template) end
    redis.call('ZREM', key.grants, id)
    Rollout.write(id, 'state', 'grading')
  end

  -- A turn whose process died ends at its deadline; if it was the last one, nobody else will say so.
  local function barUsedUp()
    Run.discard(id, 'grader_failed', false)
    return { kind = 'barred', code = 'grader_failed', rollout = Rollout.record(id) }
  end

  local function run()
    local idleMs, hardEndMs, leaseMs = Rollout.read(id, 'idleMs', 'hardEndMs', 'leaseUntilMs')
    Rollout.write(id, 'gradeUntilMs', nowMs + ask.gradeMs)
    Rollout.leaseUntil(id, math.max(tonumber(leaseMs), nowMs + ask.gradeMs + idleMs), hardEndMs)
    return { kind = 'run', turn = tonumber(turn), rollout = Rollout.record(id) }
  end

  local function beginTurn()
    Ending.dropGrader(Rollout.graderOf(id))
    turn = redis.call('HINCRBY', key.rollout .. id, 'gradeTurn', 1)
    Rollout.write(id, 'gradeBy', by)
    return run()
  end

  if not state then return { kind = 'barred', code = 'rollout_unknown' } end
  if score then return { kind = 'scored', score = score, rollout = Rollout.record(id) } end
  local barred = Rollout.barredCode(state, taintCode, closedBy)
  if barred then return { kind = 'barred', code = barred, rollout = Rollout.record(id) } end
  -- Who asks lives in a sandbox, but a replica that was promoted since may not know of it, or it was lost before anything had
  -- run there and another was granted, in which nobody lives yet.
  local isElsewhere = ask.seenIn and ask.seenIn ~= sandbox
  if ask.inSandbox and (state == 'waiting' or isElsewhere) then return { kind = 'waiting' } end
  if state ~= 'grading' then enterGrading() end
  if redis.call('SCARD', key.inFlight .. id) > 0 then return { kind = 'wait', on = 'calls' } end
  if tonumber(gradeUntilMs or 0) > nowMs then return gradeBy == by and run() or { kind = 'wait', on = 'grader' } end
  if tonumber(turn or 0) >= turnsMax then return barUsedUp() end
  return beginTurn()
end)

-- A score is stored once and never recomputed. On the RFT face nothing more can come, so it closes the rollout.
script('store-score', function(ask)
  local id, score = ask.key, ask.score
  local state, face, taintCode, closedBy, stored = Rollout.read(id, 'state', 'face', 'taintCode', 'closedBy', 'score')

  if not state then return { kind = 'forgotten' } end
  if stored then return { kind = 'later', score = stored } end
  local barred = Rollout.barredCode(state, taintCode, closedBy)
  if barred then return { kind = 'barred', code = barred } end
  -- As with a rollout that is not known, a turn that is not was begun before Redis forgot it: it is to be graded again.
  if ask.turn > tonumber(Rollout.read(id, 'gradeTurn') or 0) then return { kind = 'forgotten' } end

  local idleMs, hardEndMs, discarded = Rollout.read(id, 'idleMs', 'hardEndMs', 'discard')
  -- Three turns were used up and the trainer was told so: a late score must not contradict it.
  if discarded then return { kind = 'barred', code = discarded } end
  Rollout.write(id, 'score', score, 'scoreDetail', ask.detail, 'gradeUntilMs', 0)
  Run.scoreGroup(id, tonumber(score))
  Run.count(Rollout.runOf(id), 'scored')
  Rollout.leaseUntil(id, nowMs + idleMs, hardEndMs)
  if face == 'rft' then Ending.close(id, 'closed', 'scored') end
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

-- A turn of grading failed; says how many turns are left. The last one decides: the rollout is discarded.
script('fail-grade', function(ask)
  local id = ask.key
  local state, current, score, idleMs, hardEndMs = Rollout.read(id, 'state', 'gradeTurn', 'score', 'idleMs', 'hardEndMs')
  if not state or not current then return turnsMax end -- begun before Redis forgot it
  if state == 'grading' and ask.turn == tonumber(current) and not score then
    Rollout.write(id, 'gradeUntilMs', 0, 'gradeEvidence', ask.evidence)
    Rollout.leaseUntil(id, nowMs + idleMs, hardEndMs)
    if tonumber(current) >= turnsMax then Run.discard(id, 'grader_failed', false) end
  end
  return turnsMax - tonumber(current)
end)

-- Grading found that the rollout can never be scored; a stored score stands. True for whoever is the first to find it.
script('discard-rollout', function(ask)
  local id = ask.key
  local state, score, known = Rollout.read(id, 'state', 'score', 'discard')
  if not state or score or known then return false end
  Run.discard(id, ask.code, false)
  return true
end)
