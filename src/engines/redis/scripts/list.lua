-- ARGV nonce, entries_max, bytes_max
return answer(function()
  admitted(ARGV[1])
  local ids = run('SMEMBERS', P .. 'sessions')
  local records, entries, count, bytes = {}, {}, 0, 0
  local function weigh(values)
    for i = 1, #values do
      bytes = bytes + #values[i]
    end
    if bytes > tonumber(ARGV[3]) then
      refuse('HFLARGE more than ' .. ARGV[3] .. ' bytes of')
    end
  end
  local function add(id, record, inc)
    weigh(record)
    records[#records + 1] = {id, record}
    local denied = run('HGET', session_key(id), 'denied') ~= '0'
    for _, kind in ipairs({'held', 'waiting'}) do
      local key = entries_key(kind, id, inc)
      count = count + run('HLEN', key)
      if count > tonumber(ARGV[2]) then
        refuse('HFLARGE more than ' .. ARGV[2])
      end
      if kind == 'held' or not denied then
        local all = run('HGETALL', key)
        weigh(all)
        for k = 1, #all do
          entries[#entries + 1] = all[k]
        end
      end
    end
  end
  for i = 1, #ids do
    local inc = run('HGET', session_key(ids[i]), 'inc')
    if inc then
      add(ids[i], run('HGETALL', session_key(ids[i])), inc)
    else
      -- A refused command left its name. Who may only read is not told of it.
      redis.pcall('SREM', P .. 'sessions', ids[i])
    end
  end
  return {records, entries}
end)
