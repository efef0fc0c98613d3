-- Begins every script that looks for an entry by its order or by its request.

local function find_own(id, inc, order, request, name)
  local e, holds = own_entry(id, inc, request, name)
  if order == '0' or (e and e.order == order) then
    return e, holds
  end
  -- The order is a score in one of the name's queues. In which one the client did not say.
  for _, kind in ipairs({'x', 'r', 'p'}) do
    local found = run('ZRANGEBYSCORE', queue_key(kind, name), order, order)[1]
    if found then
      e = entry_of(found)
      if e.id ~= id or e.inc ~= inc then
        return nil
      end
      return own_entry(id, inc, e.request, name)
    end
  end
end
