-- ARGV nonce, entries_max
return answer(function()
  admitted(ARGV[1])
  local ids = run('SMEMBERS', P .. 'sessions')
  local records, entries, count = {}, {}, 0
  for i = 1, #ids do
    local record = run('HGETALL', session_key(ids[i]))
    local inc, denied = run('HGET', session_key(ids[i]), 'inc'), false
    records[i] = {ids[i], record}
    denied = run('HGET', session_key(ids[i]), 'denied') ~= '0'
    for _, kind in ipairs({'held', 'waiting'}) do
      local key = entries_key(kind, ids[i], inc)
      count = count + run('HLEN', key)
      if count > tonumber(ARGV[2]) then
        refuse('HFLARGE more than ' .. ARGV[2])
      end
      if kind == 'held' or not denied then
        local all = run('HGETALL', key)
        for k = 1, #all do
          entries[#entries + 1] = all[k]
        end
      end
    end
  end
  return {records, entries}
end)
