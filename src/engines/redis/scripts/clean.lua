-- ARGV nonce, cursor
-- Deletes keys of earlier lives of the data, a page at a time. Nobody reads them.
return answer(function()
  local page = run('SCAN', ARGV[2], 'MATCH', 'holdfast:*', 'COUNT', '200')
  local now = redis.call('HGET', 'holdfast:store', 'nonce')
  for _, key in ipairs(page[2]) do
    local nonce = string.match(key, '^holdfast:(%x+):')
    if now == ARGV[1] and nonce and #nonce == 16 and nonce ~= now then
      run('UNLINK', key)
    end
  end
  return page[1]
end)
