-- Deletes keys of earlier lives of the data, a page at a time. Nobody reads them. The record says
-- how far it is, so that whoever comes next goes on.
return answer(function()
  local life = ARGV[1]
  local there = run('HMGET', 'holdfast:store', 'nonce', 'uncleaned')
  if there[1] ~= life or not there[2] then
    return 0
  end
  local page = run('SCAN', there[2], 'MATCH', 'holdfast:*', 'COUNT', '200')
  -- This page may have nothing to delete.
  allow_when_full('holdfast:store')
  for _, key in ipairs(page[2]) do
    local nonce = string.match(key, '^holdfast:(%x+):')
    if nonce and #nonce == 16 and nonce ~= life then
      run('UNLINK', key)
    end
  end
  if page[1] == '0' then
    run('HDEL', 'holdfast:store', 'uncleaned')
    return 0
  end
  run('HSET', 'holdfast:store', 'uncleaned', page[1])
  return 1
end)
