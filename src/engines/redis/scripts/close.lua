-- ARGV nonce, session, inc
return answer(function()
  admitted(ARGV[1])
  if run('HGET', session_key(ARGV[2]), 'inc') ~= ARGV[3] then
    refuse('HFGONE session ' .. ARGV[2] .. ' is not there')
  end
  return {flag(bury(ARGV[2], ARGV[3]))}
end)
