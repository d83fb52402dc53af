-- A score is stored once and never recomputed. On the RFT face nothing more can come, so it closes the rollout.
local id, turn, score, detail = unpack(ARGV, 2)
local state, face, taintCode, closedBy, stored = read(id, 'state', 'face', 'taintCode', 'closedBy', 'score')

if not state then return { 'forgotten' } end
if stored then return { 'later', stored } end
local barred = barredCode(state, taintCode, closedBy)
if barred then return { 'barred', barred } end
-- As with a rollout that is not known, a turn that is not was begun before Redis forgot it: it is to be graded again.
if tonumber(turn) > tonumber(read(id, 'gradeTurn') or 0) then return { 'forgotten' } end

local idleMs, hardEndMs, discarded = read(id, 'idleMs', 'hardEndMs', 'discard')
-- Three turns were used up and the trainer was told so: a late score must not contradict it.
if discarded then return { 'barred', discarded } end
write(id, 'score', score, 'scoreDetail', detail, 'gradeUntilMs', 0)
scoreGroup(id, tonumber(score))
count(runOf(id), 'scored')
leaseUntil(id, nowMs + idleMs, hardEndMs)
if face == 'rft' then closeRollout(id, 'closed', 'scored') end
return { 'first', score }
