-- ARGV nonce
-- The next entries of sessions that have ended.
return answer(function()
  admitted(ARGV[1])
  return {flag(sweep(SWEEP_MAX))}
end)
