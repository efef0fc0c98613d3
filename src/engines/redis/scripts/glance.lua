return answer(function()
  local nonce, is_whole, others = unpack(ARGV, 1, 3)  -- behind them the sessions
  admitted(nonce)
  local whole, found = is_whole == '1', {}
  local function add(id)
    if whole then
      local record = record_of(id)
      found[#found + 1] = #record > 0 and {id, record} or nil
      return #record > 0
    end
    local s = run('HMGET', session_key(id), 'inc', 'beat', 'denied', 'ttl', 'device', 'inode')
    -- One that is damaged is shown to those who wait for it.
    if s[1] and s[2] and s[3] and s[4] and is_ttl(s[4]) and all_short(s) then
      local brief = {id, s[1], s[2], s[3], s[4], s[5] or 0, s[6] or 0}
      found[#found + 1] = table.concat(brief, ' ')
    end
    return s[1] or s[2] or s[3] or s[4]
  end
  for i = 4, #ARGV do
    add(ARGV[i])
  end
  if others ~= '0' then
    local ids = run('SRANDMEMBER', P .. 'sessions', others)
    for i = 1, #ids do
      if not add(ids[i]) then
        -- A refused command left its name. A user that may only read is not bothered.
        redis.pcall('SREM', P .. 'sessions', ids[i])
      end
    end
  end
  return found
end)
