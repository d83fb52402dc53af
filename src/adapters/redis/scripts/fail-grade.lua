-- A turn of grading failed; says how many turns are left. The last one decides: the rollout is discarded.
local id, turn, evidence = unpack(ARGV, 2)
local turnsMax = 3
local state, current, score, idleMs, hardEndMs = read(id, 'state', 'gradeTurn', 'score', 'idleMs', 'hardEndMs')
if not state or not current then return turnsMax end -- begun before Redis forgot it
if state == 'grading' and turn == current and not score then
  write(id, 'gradeUntilMs', 0, 'gradeEvidence', evidence)
  leaseUntil(id, nowMs + idleMs, hardEndMs)
  if tonumber(current) >= turnsMax then discard(id, 'grader_failed', false) end
end
return turnsMax - tonumber(current)
