-- ARGV nonce, session, inc
return answer(function()
  admitted(ARGV[1])
  usable_session(ARGV[2], ARGV[3])
  -- Holders keep what they have.
  allow_when_full(session_key(ARGV[2]))
  run('HINCRBY', session_key(ARGV[2]), 'beat', 1)
  return {run('EXISTS', P .. 'ended')}
end)
