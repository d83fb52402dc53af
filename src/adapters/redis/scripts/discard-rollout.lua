-- Grading found that the rollout can never be scored; a stored score stands. 1 for whoever is the first to find it.
local id, code = unpack(ARGV, 2)
local state, score, known = read(id, 'state', 'score', 'discard')
if not state or score or known then return 0 end
discard(id, code, false)
return 1
