-- Rollouts whose sandbox did not answer when fleet state was written back. Their record is unknown, but not that they
-- live, so nobody may open them anew. Kept for a day: no sandbox and no rollout lives longer.

local unsureKeptMs = 24 * 3600 * 1000

-- Why a rollout without record may not be opened; nil for one that nobody knows.
local function unsureCode(id)
  local where = redis.call('HGET', key.unsure, id)
  if not where then return nil end
  return where == 'gone' and 'sandbox_lost' or 'recovering'
end

local function stillRecovering()
  return redis.error_reply('RECOVERING the sandbox of this rollout has not answered since Redis was replaced')
end
