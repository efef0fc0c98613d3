-- ARGV nonce, session, inc
return answer(function()
  admitted(ARGV[1])
  usable_session(ARGV[2], ARGV[3])
  -- Something is deleted first, though there is nothing, for then a server that is out of memory
  -- allows the rest: holders keep what they have.
  run('HDEL', session_key(ARGV[2]), '')
  run('HINCRBY', session_key(ARGV[2]), 'beat', 1)
  return {run('EXISTS', P .. 'ended')}
end)
