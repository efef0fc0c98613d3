-- Begins every script that needs the session.

local function denied_session(key)
  local by = run('HMGET', key, 'denied_by', 'denied_why')
  refuse('HFDENIED by ' .. (by[1] or '') .. ': ' .. (by[2] or ''))
end

local function live_session(key)
  local denied = run('HGET', key, 'denied')
  if not denied then
    refuse('HFNOSESSION this node has no record of the session')
  end
  if denied ~= '0' then
    denied_session(key)
  end
end
