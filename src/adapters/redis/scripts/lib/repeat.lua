-- requires: record, rollout, verdict
-- What a repeat of a settled call gets: `Repeated` of scripts/calls.ts. It follows from the call's own outcome and the verdict of
-- its rollout, here and nowhere else. Its answer follows raw.
local function reply(id, call, summary)
  local outcome, code, isAnswered = summary[6], summary[7], summary[12] ~= 0
  local answer = isAnswered and redis.call('HGET', key.answers .. id, call)
  if answer then return { kind = 'settled' }, { answer } end
  if code == 'sandbox_broken' and not isAnswered then return { kind = 'broken', rollout = Record.read(id) } end
  local _, discarded = Verdict.read(id)
  if isAnswered or outcome == 'completed' then
    local state, broken = Rollout.read(id, 'state', 'broken')
    local hasRun = summary[4] > 0
    if not isAnswered or not hasRun or not Rollout.isOpen(state) then return { kind = 'answer_expired' } end
    -- Its sandbox has its bytes, until its policy breaks that. A discard ends it.
    if broken then return { kind = 'output_gone' } end
    if not discarded then return { kind = 'in_journal', rollout = Record.read(id) } end
  end
  local own = code ~= cjson.null and code or nil
  local told = discarded and discarded.code or own or Verdict.barred(id) or 'outcome_unknown'
  return { kind = 'barred', code = told, admitted = summary[5], rollout = Record.read(id) }
end

return { reply = reply }
