-- A sandbox that would not take its rollout is given up. Compare-and-set on the generation, and only before the first
-- dispatch; whoever comes too late gets the current state.
local id, generation, reason, evidence = unpack(ARGV, 2)
local state, current, dispatched = read(id, 'state', 'generation', 'dispatched')
if not state then return false end
if state == 'claimed' and current == generation and not dispatched then
  write(id, 'swapReason', reason, 'swapEvidence', evidence, 'atHead', 1)
  swapToHead(id)
end
return claimReply(id)
