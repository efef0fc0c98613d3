#!/usr/bin/env bats

# Passwords in URLs: no message shows one, and what can be read by others is warned about.

load setup
load servers

teardown_file() { stop_server 1; }

# hides URL ARGUMENTS: it ends with a fault, and shows the password on neither output.
hides() {
  local url=$1
  shift
  status=0
  output=$(holdfast "${@//URL/"$url"}" 2>&1) || status=$?
  [[ $status != 0 && -n $output && $output != *SECRETPW* ]] && return
  echo "exit $status: ${*//URL/"$url"}"
  echo "$output"
  return 1
}

# As one writes them for holdfast, and as for other clients.
urls=('redis://u:SECRETPW@127.0.0.1:1' 'redis://SECRETPW@127.0.0.1:1'
  'redis://127.0.0.1:1?password=SECRETPW' 'redlock://u:SECRETPW@127.0.0.1:1?password=SECRETPW'
  'etcd://127.0.0.1:1?ttl=3s&auth=SECRETPW' 'zookeeper://SECRETPW@127.0.0.1:1'
  'redis:/u:SECRETPW@127.0.0.1:1')

@test "no message about typing mistakes repeats a password" {
  for url in "${urls[@]}"; do
    for words in 'run x --store URL /bin/true' 'run x --store=URL' 'run x --store URL' \
      '--store URL ls' '--store=URL ls' 'URL ls' 'ls URL' 'ls x URL' 'run x URL --flag' \
      'run x -- URL' 'run x --fenced URL -- true' 'run x --wait URL -- true' \
      'run x --ttl URL -- true' 'run x -E URL -- true' 'run x --permits URL -- true' \
      'fence show URL r' 'fence check URL r' 'fence raise URL r 7' 'fence URL file:/x r' \
      'deny --session URL' 'redlock URL' 'verify URL' 'check -- URL' 'ls --sessions=URL' \
      'deny x --raise-fence URL' 'run x --URL -- true' 'ls -xURL' 'URL -- true'; do
      hides "$url" $words
      hides "$url" ${words%% -- *} --json ${words#"${words%% -- *}"}
    done
  done
  expect 64 holdfast --store "${urls[0]}" ls
  says 'options come after the verb: holdfast ls --store redis://u@127.0.0.1:1;'
  expect 64 holdfast run x curl 'https://u:SECRETPW@h/p?id=1&x=2'
  says "holdfast run x -- curl 'https://u@h/p?id=1&x=2';"
}

@test "no message about a store repeats a password, wherever its URL came from" {
  for url in "${urls[@]}"; do
    for words in 'run x -- true' ls doctor 'ls --json' 'doctor --json' 'run x --json -- true' \
      'redlock status' 'redlock init'; do
      hides "$url" ${words%% *} --store URL ${words#"${words%% *}"}
      HOLDFAST_STORE=$url hides "$url" $words
      printf 'store = "%s"\n' "$url" >c.toml
      (unset HOLDFAST_STORE; HOLDFAST_CONFIG=$PWD/c.toml hides "$url" $words)
    done
  done
}

@test "the values of all keys that an engine has are shown, and of others none" {
  for scheme in local redis redlock etcd zookeeper; do
    url="$scheme://127.0.0.1:1"
    [[ $scheme != local ]] || url=local:/x
    run holdfast ls --store "$url?nosuch=1"
    [[ $output == *'has no option "nosuch"; it has '* ]] || continue
    keys=${output#*; it has } query=
    keys=${keys%% [*}
    for key in ${keys//[, ]/ }; do
      [[ $key == and ]] || query+="$key=shown&"
    done
    [[ $query == *max_ttl=* ]]
    run holdfast doctor --store "$url?${query}nosuch=hidden"
    says "${query}nosuch=..."
  done
}

@test "a label is shown as it is" {
  HOLDFAST_LABEL='me@h?x=1' run holdfast doctor
  says 'me@h?x=1'
}

@test "a holdfast inside run finds the password where the outer one did" {
  command -v redis-server >/dev/null || skip "NOT TESTED: no redis-server"
  start_server 1 '' --requirepass SECRETPW
  where="127.0.0.1:$(port_of 1)?assume_fresh=yes&node_timeout=5s"
  url="redis://:SECRETPW@$where"
  inside='"$HOLDFAST" ls --names && ! env | grep SECRETPW'
  export HOLDFAST
  printf 'store = "%s"\n' "$url" >c.toml
  chmod 600 c.toml
  HOLDFAST_STORE=$url expect 0 holdfast run a -- sh -c '"$HOLDFAST" ls --names'
  [[ $output != *"not part of this build"* ]]
  unset HOLDFAST_STORE
  HOLDFAST_CONFIG=$PWD/c.toml expect 0 holdfast run a -- sh -c "$inside"
  [[ $output == a ]]
  HOLDFAST_CONFIG=$PWD/c.toml expect 0 holdfast run a -- \
    sh -c '"$HOLDFAST" run b -- sh -c '"'$inside'"
  [[ $output == $'a\nb' ]]
  # What has a store of its own wins as ever.
  HOLDFAST_CONFIG=$PWD/c.toml expect 0 holdfast run a --store "$store" -- \
    sh -c 'echo "$HOLDFAST_STORE"'
  [[ $output == "$store" ]]
  # No password, no reason.
  printf 'store = "%s"\n' "$store" >c.toml
  HOLDFAST_CONFIG=$PWD/c.toml expect 0 holdfast run a -- sh -c 'echo "$HOLDFAST_STORE"'
  [[ $output == "$store" ]]
}

@test "a password in a configuration file that everybody can read is warned about once" {
  printf '\nstore = "redis://:secret@127.0.0.1:1"\n' >c.toml
  unset HOLDFAST_STORE
  export HOLDFAST_CONFIG=$PWD/c.toml
  chmod 644 c.toml
  run holdfast ls
  says "warning: the password in $PWD/c.toml can be read by every user" password_file 'chmod o-r'
  [[ $(grep -c warning <<<"$output") == 1 && $output != *secret* ]]
  run holdfast ls --json
  says "\"warning\":\"the password in $PWD/c.toml"
  HOLDFAST_STORE=$store expect 0 holdfast ls
  [[ $output != *warning* ]]
  chmod 640 c.toml
  run holdfast ls
  [[ $output != *warning* ]]
  chmod 644 c.toml
  printf 'store = "%s"\n' "$store" >c.toml
  expect 0 holdfast ls
  [[ $output != *warning* ]]
}

@test "a password in --store is warned about and never shown" {
  run holdfast ls --store redis://me:secret@h
  [[ $output == *"can be read by everybody"*password_file* && $output != *secret* ]]
}

@test "the warning about a password names what every engine with servers has" {
  for scheme in redis redlock etcd zookeeper; do
    run holdfast ls --store "$scheme://me:secret@127.0.0.1:1"
    says HOLDFAST_STORE '?password_file=/PATH in the URL'
    [[ $output != *"unknown key"* && $output != *secret* ]]
    run holdfast ls --store "$scheme://me@127.0.0.1:1?password_file=/is/not/there"
    says /is/not/there
  done
  run holdfast ls --json --store redis://me:secret@h
  says '"warning":"the password in --store'
}

@test "a password_file that others can read is warned about once" {
  echo secret >pass
  file="$PWD/pass"
  url="redis://127.0.0.1:1?password_file=${file//a/%61}"
  for mode in 604 640 644; do
    chmod $mode pass
    run holdfast ls --store "$url"
    says "warning: the password_file $file can be read by " 'chmod 600'
    [[ $(grep -c warning <<<"$output") == 1 ]]
  done
  HOLDFAST_STORE=$url run holdfast ls --json
  says '"warning":"the password_file' 'every user of this machine'
  for mode in 600 400; do
    chmod $mode pass
    run holdfast ls --store "$url"
    [[ $output != *warning* ]]
  done
}

@test "a password that cuts its URL is shown nowhere" {
  for url in redis://u:SEC/RET@h etcd://u:SEC,RET@h 'redlock://u:SEC?RET=1@h'; do
    for verb in ls doctor; do
      run holdfast $verb --store "$url"
      says '%2f %3f %2c %23 %40'
      [[ $output != *SEC* && $output != *RET* ]]
    done
  done
}
