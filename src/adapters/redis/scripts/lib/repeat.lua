-- requires: record, rollout, verdict
-- What a repeat of a settled call gets: `Repeated` of scripts/calls.ts. It follows from the call's own outcome and the verdict of
-- its rollout, here and nowhere else.
local function reply(id, summary)
  local outcome, code, isAnswered = summary[6], summary[7], summary[12] ~= 0
  if code == 'sandbox_broken' and not isAnswered then return { kind = 'broken', rollout = Record.read(id) } end
  local verdict, discarded = Verdict.read(id)
  if isAnswered and summary[5] == 'no' and not discarded then return { kind = 'ran_nothing', rollout = Record.read(id), text = summary[13] } end
  if not discarded and (isAnswered or outcome == 'completed') then
    local state, broken, sandbox = Rollout.read(id, 'state', 'broken', 'sandbox')
    local hasRun = summary[4] > 0
    if not isAnswered or not hasRun or not Rollout.isOpen(state) then return { kind = 'answer_expired' } end
    -- Its sandbox has its bytes, until its policy breaks that, or it goes after the score, which decides nothing.
    if broken then return { kind = 'output_gone' } end
    local isLost = verdict == 'scored' and redis.call('HGET', key.sandbox .. (sandbox or ''), 'phase') ~= 'ready'
    return isLost and { kind = 'answer_expired' } or { kind = 'in_journal', rollout = Record.read(id) }
  end
  local own = code ~= cjson.null and code or nil
  local told = discarded and discarded.code or own or Verdict.barred(id) or 'outcome_unknown'
  return { kind = 'barred', code = told, admitted = summary[5], rollout = Record.read(id) }
end

return { reply = reply }
