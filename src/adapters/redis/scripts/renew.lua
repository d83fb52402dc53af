-- "Still here" for many waiters at once, then ready sandboxes to those who may have them; says what each is now.
local refusals, templates = {}, {}
for index = 2, #ARGV do
  local id = ARGV[index]
  local template = read(id, 'template')
  if template then
    refusals[id] = stillHere(id)
    templates[template] = true
  end
end
for template in pairs(templates) do serveLine(template) end

local replies = {}
for index = 2, #ARGV do
  local id = ARGV[index]
  local values = record(id)
  if not values then
    replies[index - 1] = false
  elseif refusals[id] then
    replies[index - 1] = { 'refused', refusals[id], values }
  else
    replies[index - 1] = claimReply(id)
  end
end
return replies
