-- ARGV nonce, sessions_max, entries_max, entries_limit, bytes_limit, cursor, session...
-- With a cursor its page of sessions ('': the first one, or all if they fit), else those named. A
-- page ends behind the session with which it has entries_max entries, and names what is left of it.
return answer(function()
  admitted(ARGV[1])
  local ids, cursor = {unpack(ARGV, 7)}, '0'
  if #ids == 0 then
    local key = P .. 'sessions'
    if ARGV[6] == '' and run('SCARD', key) <= tonumber(ARGV[2]) then
      ids = run('SMEMBERS', key)
    else
      local page = run('SSCAN', key, ARGV[6] == '' and '0' or ARGV[6], 'COUNT', ARGV[2])
      cursor, ids = page[1], page[2]
    end
  end
  local records, entries, rest, count, bytes = {}, {}, {}, 0, 0
  local function weigh(values)
    for i = 1, #values do
      bytes = bytes + #values[i]
    end
    if bytes > tonumber(ARGV[5]) then
      refuse('HFLARGE more than ' .. ARGV[5] .. ' bytes of')
    end
  end
  local function add(id, inc, denied)
    local kinds, size = {entries_key('held', id, inc)}, 0
    if denied == '0' then
      kinds[2] = entries_key('waiting', id, inc)
    end
    for _, key in ipairs(kinds) do
      size = size + run('HLEN', key)
    end
    if size > tonumber(ARGV[4]) then
      refuse('HFLARGE more than ' .. ARGV[4])
    end
    if count > 0 and count + size > tonumber(ARGV[3]) then
      rest[#rest + 1] = id
      return
    end
    count = count + size
    local record = run('HGETALL', session_key(id))
    weigh(record)
    records[#records + 1] = {id, record}
    for _, key in ipairs(size > 0 and kinds or {}) do
      local all = run('HGETALL', key)
      weigh(all)
      for k = 1, #all do
        entries[#entries + 1] = all[k]
      end
    end
  end
  for i = 1, #ids do
    local there = run('HMGET', session_key(ids[i]), 'inc', 'denied')
    if there[1] then
      add(ids[i], there[1], there[2])
    else
      -- A refused command left its name. Who may only read is not told of it.
      redis.pcall('SREM', P .. 'sessions', ids[i])
    end
  end
  return {records, entries, cursor, rest}
end)
