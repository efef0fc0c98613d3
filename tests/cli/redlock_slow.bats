#!/usr/bin/env bats

# A redlock:// store whose servers, or the way to them, are slow.

load setup
load servers
load redlock_servers

@test "of nodes that are slow to tell their state it is said since when, and what to do" {
  initialised
  # They greet, and answer no script, which may write.
  for i in 1 2 3; do cli "$i" CLIENT PAUSE 20000 WRITE; hang "$i"; done
  (sleep 1.7; for i in 1 2 3; do go_on "$i"; done) 3>&- &
  run holdfast run x --store "redlock://$nodes?node_timeout=50ms" -- true
  wait $!
  for i in 1 2 3; do cli "$i" CLIENT UNPAUSE; done
  [[ $status == 69 ]]
  [[ $output =~ "$(port_of 1) has not told its state yet, "[0-9.]+m?s\ after\ it\ was\ asked ]] || {
    echo "$output"
    return 1
  }
  says 'each question is given 2s' 'Try again in a moment; a server of which this is said each time'
  says '; --wait DURATION goes on trying ['
  expect 0 holdfast run x -- true
}

# rests <TIMES: of each look that a server was asked for, what it says of it when it is followed by
# less than nine times as long without one. It counts by the shorter of two looks in a row, and a
# client takes no less time than from the first page that it asks for to the last, however busy the
# machine is.
rests() {
  python3 -c 'import re, sys
looks = []
for line in sys.stdin:
    page = re.match(r"([0-9.]+) .*\"EVALSHA\" \"\w+\" \"0\" \"(\d+)\" \"100\"", line)
    if page and page[2] == "0":
        looks.append([])
    if page and looks:
        looks[-1].append(float(page[1]))
looks = [pages for pages in looks if len(pages) > 1]
took = [pages[-1] - pages[0] for pages in looks]
for k in range(1, len(looks) - 2):
    least, rest = 9 * min(took[k - 1], took[k]), looks[k + 1][0] - looks[k][-1]
    assert len(looks[k]) > 60 and rest >= least > 0.055, (k, len(looks[k]), took, rest, least)'
}

@test "watch leaves a store with many keys alone most of the time" {
  export HOLDFAST_STORE="redlock://127.0.0.1:$(port_of 1)?$patient"
  initialised
  cli 1 EVAL "for i = 1, 7000 do redis.call('SET', 'k' .. i, 1) end" 0
  { cli 1 MONITOR | grep --line-buffered EVALSHA >asked; } 3>&- &
  monitor=$!
  until_true eval 'cli 1 CLIENT LIST | grep -q cmd=monitor'
  in_background watch >/dev/null
  four_looks() { (($(grep -c '"0" "0" "100"' asked) > 4)); }
  until_true four_looks || until_true four_looks || until_true four_looks
  kill "$pid"
  cli 1 CLIENT KILL TYPE normal >/dev/null
  wait "$monitor" || true
  rests <asked
}

# A server between the client and the first node. Once it has passed on the request for the lock "x"
# it passes no answer on, but those that are there when the file `step` comes.
holding_proxy() {
  cat >proxy.py <<'P'
import os, select, socket, sys, threading

def serve(client):
    server = socket.create_connection(('127.0.0.1', int(sys.argv[1])))
    held = False
    while True:
        ready = select.select([client] if held else [client, server], [], [], 0.01)[0]
        if client in ready:
            data = client.recv(65536)
            if not data:
                return
            server.sendall(data)
            if b'holdfast:token:x' in data and not held:
                held = True
                open('asked', 'w')
        if server in ready:
            data = server.recv(65536)
            if not data:
                return
            client.sendall(data)
        if held and os.path.exists('step'):
            os.unlink('step')
            client.sendall(server.recv(65536))
            open('told', 'w')

listener = socket.create_server(('127.0.0.1', 0))
with open('proxy.port.new', 'w') as f:
    f.write(str(listener.getsockname()[1]))
os.rename('proxy.port.new', 'proxy.port')
while True:
    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
P
  RUNMARK=$MARK setpriv --pdeathsig KILL python3 proxy.py "$(port_of 1)" 3>&- &
  proxy=$!
  until_true test -e proxy.port
}

# Skips where the command has run.
over() {
  kill "$proxy" "$pid" || true
  wait "$proxy" "$pid" || true
  [[ ! -e began ]] || skip "NOT TESTED: the machine is too busy, the answer came too late"
}
# What had to be there is gone, and nothing but its command excuses it.
too_late() { over; return 1; }

# Hundredths of a second.
cpu_of() { awk '{print $14 + $15}' "/proc/$1/stat"; }

@test "a signal in a lease that is too short yet costs no CPU until it is renewed" {
  holding_proxy
  one="redlock://127.0.0.1:$(<proxy.port)?node_timeout=10s"
  holdfast redlock init --store "$one"
  in_background run x --store "$one" --ttl 20s --grace 10s -- touch began 2>said
  until_true test -e asked
  sleep 9.5
  # The lease counts from the request: what is left of it now is no more than the grace.
  : >step
  until_true test -e told
  kill -WINCH "$pid" || too_late
  sleep 0.5
  before=$(cpu_of "$pid") || too_late
  sleep 2
  after=$(cpu_of "$pid") || too_late
  used=$((after - before))
  over
  echo "used: $used"
  ((used < 10))
}
