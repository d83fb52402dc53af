-- Begins a turn of grading. From here on new call ids are refused; one turn at a time, three at most, never after taint.
-- Who asks again under the same name (ARGV[3]) has not heard that the turn is its own, and would wait for itself.
local id, by, gradeMs, inSandbox, seenIn = ARGV[2], ARGV[3], tonumber(ARGV[4]), ARGV[5] == '1', ARGV[6]
local turnsMax = 3
local state, taintCode, closedBy, score, turn, gradeUntilMs, gradeBy, template, sandbox =
  read(id, 'state', 'taintCode', 'closedBy', 'score', 'gradeTurn', 'gradeUntilMs', 'gradeBy', 'template', 'sandbox')

-- A rollout without calls may be graded where it stands: its grader may need no sandbox.
local function enterGrading()
  if state == 'waiting' then leaveLine(id, template) end
  redis.call('ZREM', key.grants, id)
  write(id, 'state', 'grading')
end

-- A turn whose process died ends at its deadline; if it was the last one, nobody else will say so.
local function barUsedUp()
  discard(id, 'grader_failed', false)
  return { 'barred', 'grader_failed', record(id) }
end

local function run()
  local idleMs, hardEndMs, leaseMs = read(id, 'idleMs', 'hardEndMs', 'leaseUntilMs')
  write(id, 'gradeUntilMs', nowMs + gradeMs)
  leaseUntil(id, math.max(tonumber(leaseMs), nowMs + gradeMs + idleMs), hardEndMs)
  return { 'run', turn, record(id) }
end

local function beginTurn()
  turn = redis.call('HINCRBY', key.rollout .. id, 'gradeTurn', 1)
  write(id, 'gradeBy', by)
  return run()
end

if not state then return { 'barred', 'rollout_unknown', false } end
if score then return { 'scored', score, record(id) } end
local barred = barredCode(state, taintCode, closedBy)
if barred then return { 'barred', barred, record(id) } end
-- Who asks lives in a sandbox, but a replica that was promoted since may not know of it, or it was lost before anything had
-- run there and another was granted, in which nobody lives yet.
local isElsewhere = seenIn ~= '' and seenIn ~= sandbox
if inSandbox and (state == 'waiting' or isElsewhere) then return { 'waiting' } end
if state ~= 'grading' then enterGrading() end
if redis.call('SCARD', key.inFlight .. id) > 0 then return { 'wait', 'calls', false } end
if tonumber(gradeUntilMs or 0) > nowMs then return gradeBy == by and run() or { 'wait', 'grader', false } end
if tonumber(turn or 0) >= turnsMax then return barUsedUp() end
return beginTurn()
