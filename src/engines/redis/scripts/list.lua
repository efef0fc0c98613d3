-- With a cursor its page of sessions ('': the first one, or all if they fit), else those named. A
-- page ends behind the session with which it has entries_max entries, and names what is left of it.
return answer(function()
  local nonce, sessions_max, entries_max, entries_limit, bytes_limit, from = unpack(ARGV, 1, 6)
  admitted(nonce)
  local ids, cursor = {unpack(ARGV, 7)}, '0'
  if #ids == 0 then
    local key = P .. 'sessions'
    if from == '' and run('SCARD', key) <= tonumber(sessions_max) then
      ids = run('SMEMBERS', key)
    else
      local page = run('SSCAN', key, from == '' and '0' or from, 'COUNT', sessions_max)
      cursor, ids = page[1], page[2]
    end
  end
  local records, entries, rest, count, bytes = {}, {}, {}, 0, 0
  local function weigh(values)
    for i = 1, #values do
      bytes = bytes + #values[i]
    end
    if bytes > tonumber(bytes_limit) then
      refuse('HFLARGE more than ' .. bytes_limit .. ' bytes of')
    end
  end
  local function add(id, inc, denied)
    local kinds, size = {entries_key('held', id, inc)}, 0
    -- Who is denied waits for nothing any more.
    if denied == '0' then
      kinds[2] = entries_key('waiting', id, inc)
    end
    for _, key in ipairs(kinds) do
      size = size + run('HLEN', key)
    end
    if size > tonumber(entries_limit) then
      refuse('HFLARGE more than ' .. entries_limit)
    end
    -- Never the first one, or a page could come to nothing.
    if count > 0 and count + size > tonumber(entries_max) then
      rest[#rest + 1] = id
      return
    end
    count = count + size
    local record = record_of(id)
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
      -- A refused command left its name. A user that may only read is not bothered.
      redis.pcall('SREM', P .. 'sessions', ids[i])
    end
  end
  return {records, entries, cursor, rest}
end)
