-- Begins every script that needs the session.

local function denied_session(key)
  local by = run('HMGET', key, 'denied_by', 'denied_why')
  -- Cut to what is shown: a client gives up a connection on which an error takes 64 kB.
  refuse('HFDENIED by ' .. string.sub(by[1] or '', 1, 300) .. ': ' ..
         string.sub(by[2] or '', 1, 300))
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
