-- The one door of loss: a sandbox is known to be gone. Before its rollout's first dispatch it is swapped silently;
-- after it the rollout is tainted, for good. `brokenReason`: this cause is the doing of what its calls ran; what they
-- left running in the background does it as well as they do, so it is not asked whether one is in flight.
local sandbox, boot, cause, evidence, brokenReason = unpack(ARGV, 2)
local phase, currentBoot, id = unpack(redis.call('HMGET', key.sandbox .. sandbox, 'phase', 'boot', 'owner'))

-- Already known, another life, or still starting: then its launcher sees it fail and says so.
local function isNews()
  return phase == 'ready' and (boot == '' or boot == currentBoot)
end

if not isNews() then return { 'none', false } end
if not id then
  drain(sandbox)
  return { 'none', false }
end

local state, dispatched, broken, score, tainted = read(id, 'state', 'dispatched', 'broken', 'score', 'taintCode')
if state == 'claimed' or (state == 'active' and not dispatched) then
  write(id, 'swapReason', cause, 'swapEvidence', evidence, 'atHead', 1)
  swapToHead(id)
  return { 'swapped', record(id) }
end
-- Nothing is left to lose where a score stands, and what the policy broke itself is its own.
if tainted or broken or score or not isOpen(state) then
  drain(sandbox)
  return { 'none', false }
end
if brokenReason ~= '' and dispatched then
  breakRollout(id, brokenReason)
  return { 'broken', record(id) }
end
taint(id, 'sandbox_lost', cause, evidence, false)
return { 'tainted', record(id) }
