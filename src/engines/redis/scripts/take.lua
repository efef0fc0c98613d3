return answer(function()
  local nonce, id, inc, beat, denied = unpack(ARGV)  -- as they were seen
  admitted(nonce)
  local there = run('HMGET', session_key(id), 'inc', 'beat', 'denied')
  -- Whoever saw it without a record has waited for the longest ttl there is, and ends what it left.
  if not there[1] and beat ~= NO_BEAT then
    refuse('HFGONE session ' .. id .. ' is not there')
  end
  if there[1] and (there[1] ~= inc or there[2] ~= beat or there[3] ~= denied) then
    return {0, there[1], there[2], there[3]}
  end
  return {1, flag(end_session(id, inc))}
end)
