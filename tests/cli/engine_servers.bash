# An etcd and a ZooKeeper server of a suite, each in a directory of its own that holds its `port`
# and `pid`. The ports are free ones of the suite.

# start_etcd DIRECTORY
start_etcd() {
  local directory=$1 tries port
  mkdir -p "$directory"
  for ((tries = 0; tries < 20; tries++)); do
    port=$(own_port 2)
    echo "$port" >"$directory/port"
    rm -rf "$directory/data"
    setpriv --pdeathsig KILL etcd --name one --data-dir "$directory/data" --unsafe-no-fsync \
      --listen-client-urls "http://127.0.0.1:$port" \
      --advertise-client-urls "http://127.0.0.1:$port" \
      --listen-peer-urls "http://127.0.0.1:$((port + 1))" \
      --initial-advertise-peer-urls "http://127.0.0.1:$((port + 1))" \
      --initial-cluster "one=http://127.0.0.1:$((port + 1))" \
      --logger zap --log-level error >"$directory/log" 2>&1 3>&- &
    echo $! >"$directory/pid"
    until_true eval "etcd_answers $port || ! runs_in '$directory'" || return
    runs_in "$directory" && return
  done
  return 1
}

etcd_answers() {
  ETCDCTL_API=3 etcdctl --endpoints="127.0.0.1:$1" --command-timeout=2s get nothing
}

zookeeper_jars=/usr/share/java/zookeeper.jar:/usr/share/java/slf4j-simple.jar
has_zookeeper() { command -v java >/dev/null && [[ -e ${zookeeper_jars%%:*} ]]; }

# start_zookeeper DIRECTORY
start_zookeeper() {
  local directory=$1 tries port
  mkdir -p "$directory"
  for ((tries = 0; tries < 20; tries++)); do
    port=$(own_port 1)
    echo "$port" >"$directory/port"
    rm -rf "$directory/data"
    mkdir "$directory/data"
    printf '%s\n' tickTime=500 "dataDir=$directory/data" "clientPort=$port" \
      clientPortAddress=127.0.0.1 admin.enableServer=false '4lw.commands.whitelist=*' \
      >"$directory/zoo.cfg"
    setpriv --pdeathsig KILL java -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Xmx256m \
      -Dzookeeper.forceSync=no -Dorg.slf4j.simpleLogger.defaultLogLevel=warn \
      -cp "$zookeeper_jars" org.apache.zookeeper.server.quorum.QuorumPeerMain \
      "$directory/zoo.cfg" >"$directory/log" 2>&1 3>&- &
    echo $! >"$directory/pid"
    until_true eval "zookeeper_answers $port || ! runs_in '$directory'" || return
    runs_in "$directory" && return
  done
  return 1
}

zookeeper_answers() {
  local line
  exec 4<>"/dev/tcp/127.0.0.1/$1" || return
  printf ruok >&4
  read -r -t 2 -u 4 -n 4 line
  exec 4>&-
  [[ $line == imok ]]
}

runs_in() { process_runs "$1/pid"; }
stop_in() { [[ ! -e $1/pid ]] || kill -KILL "$(<"$1/pid")" 2>/dev/null || true; }

# start_silent DIRECTORY: takes connections and says nothing.
start_silent() {
  mkdir -p "$1"
  setpriv --pdeathsig KILL python3 -c 'import os, socket, sys, time
s = socket.create_server(("127.0.0.1", 0))
open(sys.argv[1] + "/port.new", "w").write(str(s.getsockname()[1]))
os.rename(sys.argv[1] + "/port.new", sys.argv[1] + "/port")
time.sleep(600)' "$1" 3>&- &
  echo $! >"$1/pid"
  until_true test -e "$1/port"
}

# took COMMAND: how many milliseconds, in $took.
took() {
  local began
  began=$(date +%s%3N)
  "$@"
  took=$(($(date +%s%3N) - began))
}

# absent_servers_are_told_at_once SCHEME SERVER: which is up.
absent_servers_are_told_at_once() {
  local at i
  for at in 127.0.0.1:1 127.0.0.1:1,127.0.0.1:2 nosuch.invalid; do
    took expect 69 holdfast run -n x --store "$1://$at/t?node_timeout=30s" -- true
    says "${at%%,*}"
    ((took < 15000)) || { echo "$at: $took ms"; return 1; }
  done
  for i in 1 2 3 4 5; do
    expect 0 holdfast run x --store "$1://127.0.0.1:1,$2,127.0.0.1:2/t" -- true
  done
}

# silence_is_waited_for SCHEME [WORDS]: what is said behind the server's address.
silence_is_waited_for() {
  local at
  start_silent silent
  at=127.0.0.1:$(<silent/port)
  took expect 69 holdfast run -n x --store "$1://$at,127.0.0.1:1/t?node_timeout=3s" -- true
  ((took > 2800)) || { echo "$took ms"; return 1; }
  took expect 69 holdfast run -n x --store "$1://$at/t?node_timeout=1s" -- true
  says "$at${2:-}"
  stop_in silent
}
