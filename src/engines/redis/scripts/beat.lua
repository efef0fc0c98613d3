return answer(function()
  local nonce, id, inc = unpack(ARGV)
  admitted(nonce)
  usable_session(id, inc)
  -- Holders keep what they have.
  allow_when_full(session_key(id))
  run('HINCRBY', session_key(id), 'beat', 1)
  return {run('EXISTS', P .. 'ended')}
end)
