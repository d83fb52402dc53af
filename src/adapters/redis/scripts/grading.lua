-- requires: ending, line, rollout, run
-- Gradings: one turn at a time, a score is stored once, and what can never be scored says why.

-- Turns of a rollout. A platform asks for a grade three times before it drops the rollout: a grader that failed for a moment has
-- each of them, and one that always fails ends as a discard that tells why. `mostTurns` in grade-rollout.ts is the same.
local turnsMax = 3

-- Begins a turn of grading. From here on new call ids are refused; one turn at a time, three at most, never after taint.
-- Who asks again under the same name (ARGV[3]) has not heard that the turn is its own, and would wait for itself.
script('begin-grade', function(ARGV)
  local id, by, gradeMs, inSandbox, seenIn = ARGV[2], ARGV[3], tonumber(ARGV[4]), ARGV[5] == '1', ARGV[6]
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
    return { 'barred', 'grader_failed', Rollout.record(id) }
  end

  local function run()
    local idleMs, hardEndMs, leaseMs = Rollout.read(id, 'idleMs', 'hardEndMs', 'leaseUntilMs')
    Rollout.write(id, 'gradeUntilMs', nowMs + gradeMs)
    Rollout.leaseUntil(id, math.max(tonumber(leaseMs), nowMs + gradeMs + idleMs), hardEndMs)
    return { 'run', turn, Rollout.record(id) }
  end

  local function beginTurn()
    Ending.dropGrader(Rollout.graderOf(id))
    turn = redis.call('HINCRBY', key.rollout .. id, 'gradeTurn', 1)
    Rollout.write(id, 'gradeBy', by)
    return run()
  end

  if not state then return { 'barred', 'rollout_unknown', false } end
  if score then return { 'scored', score, Rollout.record(id) } end
  local barred = Rollout.barredCode(state, taintCode, closedBy)
  if barred then return { 'barred', barred, Rollout.record(id) } end
  -- Who asks lives in a sandbox, but a replica that was promoted since may not know of it, or it was lost before anything had
  -- run there and another was granted, in which nobody lives yet.
  local isElsewhere = seenIn ~= '' and seenIn ~= sandbox
  if inSandbox and (state == 'waiting' or isElsewhere) then return { 'waiting' } end
  if state ~= 'grading' then enterGrading() end
  if redis.call('SCARD', key.inFlight .. id) > 0 then return { 'wait', 'calls', false } end
  if tonumber(gradeUntilMs or 0) > nowMs then return gradeBy == by and run() or { 'wait', 'grader', false } end
  if tonumber(turn or 0) >= turnsMax then return barUsedUp() end
  return beginTurn()
end)

-- A score is stored once and never recomputed. On the RFT face nothing more can come, so it closes the rollout.
script('store-score', function(ARGV)
  local id, turn, score, detail = unpack(ARGV, 2)
  local state, face, taintCode, closedBy, stored = Rollout.read(id, 'state', 'face', 'taintCode', 'closedBy', 'score')

  if not state then return { 'forgotten' } end
  if stored then return { 'later', stored } end
  local barred = Rollout.barredCode(state, taintCode, closedBy)
  if barred then return { 'barred', barred } end
  -- As with a rollout that is not known, a turn that is not was begun before Redis forgot it: it is to be graded again.
  if tonumber(turn) > tonumber(Rollout.read(id, 'gradeTurn') or 0) then return { 'forgotten' } end

  local idleMs, hardEndMs, discarded = Rollout.read(id, 'idleMs', 'hardEndMs', 'discard')
  -- Three turns were used up and the trainer was told so: a late score must not contradict it.
  if discarded then return { 'barred', discarded } end
  Rollout.write(id, 'score', score, 'scoreDetail', detail, 'gradeUntilMs', 0)
  Run.scoreGroup(id, tonumber(score))
  Run.count(Rollout.runOf(id), 'scored')
  Rollout.leaseUntil(id, nowMs + idleMs, hardEndMs)
  if face == 'rft' then Ending.close(id, 'closed', 'scored') end
  return { 'first', score }
end)

-- What this turn's graders look at was taken out of the rollout's sandbox: while the turn lasts, nothing depends on that.
script('artifacts-taken', function(ARGV)
  local id, turn = unpack(ARGV, 2)
  if Rollout.read(id, 'gradeTurn') == turn then Rollout.write(id, 'takenTurn', turn) end
  return 1
end)

-- A turn is done with its grader's sandbox. One that a later turn has claimed is not its to let go.
script('release-grader', function(ARGV)
  local id, turn = unpack(ARGV, 2)
  if Rollout.read(id, 'turn') == turn then Ending.dropGrader(id) end
  return 1
end)

-- A turn of grading failed; says how many turns are left. The last one decides: the rollout is discarded.
script('fail-grade', function(ARGV)
  local id, turn, evidence = unpack(ARGV, 2)
  local state, current, score, idleMs, hardEndMs = Rollout.read(id, 'state', 'gradeTurn', 'score', 'idleMs', 'hardEndMs')
  if not state or not current then return turnsMax end -- begun before Redis forgot it
  if state == 'grading' and turn == current and not score then
    Rollout.write(id, 'gradeUntilMs', 0, 'gradeEvidence', evidence)
    Rollout.leaseUntil(id, nowMs + idleMs, hardEndMs)
    if tonumber(current) >= turnsMax then Run.discard(id, 'grader_failed', false) end
  end
  return turnsMax - tonumber(current)
end)

-- Grading found that the rollout can never be scored; a stored score stands. 1 for whoever is the first to find it.
script('discard-rollout', function(ARGV)
  local id, code = unpack(ARGV, 2)
  local state, score, known = Rollout.read(id, 'state', 'score', 'discard')
  if not state or score or known then return 0 end
  Run.discard(id, code, false)
  return 1
end)
