return answer(function()
  local nonce, id, inc = unpack(ARGV)
  admitted(nonce)
  -- Not whether it is denied: its owner says that nobody acts under it any more.
  if run('HGET', session_key(id), 'inc') ~= inc then
    refuse('HFGONE session ' .. id .. ' is not there')
  end
  return {flag(end_session(id, inc))}
end)
