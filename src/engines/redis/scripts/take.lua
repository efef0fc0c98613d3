-- ARGV nonce, session, inc, beat, denied (1 or 0), all as they were seen
return answer(function()
  admitted(ARGV[1])
  local there = run('HMGET', session_key(ARGV[2]), 'inc', 'beat', 'denied')
  if not there[1] and ARGV[4] ~= NO_BEAT then
    refuse('HFGONE session ' .. ARGV[2] .. ' is not there')
  end
  if there[1] and (there[1] ~= ARGV[3] or there[2] ~= ARGV[4] or there[3] ~= ARGV[5]) then
    return {0, there[1], there[2], there[3]}
  end
  return {1, flag(bury(ARGV[2], ARGV[3]))}
end)
