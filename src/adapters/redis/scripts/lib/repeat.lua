-- requires: record, verdict
-- What a repeat of a settled call gets: `Repeated` of scripts/calls.ts. It follows from the call's own outcome and the verdict of
-- its rollout, here and nowhere else. Its answer follows raw.
local function reply(id, call, summary)
  local outcome, code, isAnswered = summary[6], summary[7], summary[12] ~= 0
  local answer = isAnswered and redis.call('HGET', key.answers .. id, call)
  if answer then return { kind = 'settled' }, { answer } end
  if code == 'sandbox_broken' and not isAnswered then return { kind = 'broken', rollout = Record.read(id) } end
  if isAnswered or outcome == 'completed' then return { kind = 'answer_expired' } end
  local _, discarded = Verdict.read(id)
  local own = code ~= cjson.null and code or nil
  local told = discarded and discarded.code or own or Verdict.barred(id) or 'outcome_unknown'
  return { kind = 'barred', code = told, admitted = summary[5], rollout = Record.read(id) }
end

return { reply = reply }
