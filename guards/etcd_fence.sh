# Fencing for etcd 3.4 or later: puts a key, unless a newer fencing token was seen. For sh; needs
# etcdctl, which finds the servers in ETCDCTL_ENDPOINTS.
#
#   . etcd_fence.sh
#   fenced_put RESOURCE KEY VALUE      with HOLDFAST_FENCING_TOKEN in the environment
#
# RESOURCE has letters, digits and ._/- only; VALUE is any text, in whatever encoding.
#
# 0 when it was put, 77 stale, 64 a token that is malformed or of another lock, 69 no answer, or no
# etcdctl. Two keys hold what was seen: fence/RESOURCE/source and fence/RESOURCE/floor, 16 digits,
# so that etcd's comparison of texts is one of numbers.

# The text between double quotes in a transaction of etcdctl, which ends at an empty line and would
# replace what is not UTF-8: as \xHH, byte for byte.
fence_quoted() { printf '%s' "$1" | od -An -v -tx1 | tr -d ' \n' | sed 's/../\\x&/g'; }

# etcdctl waits for ever where no server answers a transaction. The caller's environment may have it
# write in another way than is read below, and etcdctl 3.4 refuses flags that such a variable sets.
fence_txn() { ETCDCTL_WRITE_OUT=simple ETCDCTL_HEX=false timeout 5 etcdctl txn; }

fence_no_answer() {
  echo "fenced_put: etcd did not answer: whether $1 was put is not known" >&2
  return 69
}

fenced_put() {
  for fence_tool in etcdctl timeout od; do
    command -v "$fence_tool" >/dev/null && continue
    echo "fenced_put: there is no $fence_tool in PATH; nothing was put" >&2
    return 69
  done
  fence_value=${HOLDFAST_FENCING_TOKEN%%:*}
  fence_source=${HOLDFAST_FENCING_TOKEN#*:}
  case $fence_value in
    '' | 0* | *[!0-9]* | ?????????????????*) fence_value= ;;
  esac
  case $fence_source in
    *[![:graph:]]*) fence_value= ;;
    ?*:?*) ;;
    *) fence_value= ;;
  esac
  if [ -z "$fence_value" ] || [ "$fence_value" -gt 9007199254740991 ]; then
    echo "fenced_put: \"$HOLDFAST_FENCING_TOKEN\" is no fencing token: the form is" \
      "VALUE:LOCK:STORE, with VALUE from 1 to 2^53 - 1" >&2
    return 64
  fi
  case $1 in
    *[!A-Za-z0-9._/-]* | '')
      echo "fenced_put: the resource \"$1\" may have letters, digits and ._/- only" >&2
      return 64
      ;;
  esac
  fence_key=$(fence_quoted "$2")
  fence_floor=$(printf '%016d' "$fence_value")
  fence_bind=$(fence_quoted "$fence_source")
  # The first use binds the resource; nothing is changed when somebody did already.
  fence_txn >/dev/null <<TXN || { fence_no_answer "$2"; return; }
version("fence/$1/source") = "0"

put "fence/$1/source" "$fence_bind"
put "fence/$1/floor" "$fence_floor"


TXN
  fence_said=$(
    fence_txn <<TXN
value("fence/$1/source") = "$fence_bind"
value("fence/$1/floor") < "$(printf '%016d' $((fence_value + 1)))"

put "fence/$1/floor" "$fence_floor"
put -- "$fence_key" "$(fence_quoted "$3")"

get "fence/$1/source"
get "fence/$1/floor"

TXN
  ) || { fence_no_answer "$2"; return; }
  case $fence_said in
    SUCCESS*) return 0 ;;
    FAILURE*) ;;
    *) fence_no_answer "$2"; return ;;
  esac
  fence_seen=$(printf '%s\n' "$fence_said" | tail -n 1 | sed 's/^0*//')
  fence_bound=$(printf '%s\n' "$fence_said" | grep -x -A 1 "fence/$1/source" | tail -n 1)
  if [ "$fence_bound" != "$fence_source" ]; then
    echo "fenced_put: $1 is bound to $fence_bound: the token $HOLDFAST_FENCING_TOKEN is of" \
      "another lock or store" >&2
    return 64
  fi
  echo "fenced_put: stale token $fence_value for $1: token $fence_seen was seen, this writer was" \
    "replaced: stop and acquire the lock again" >&2
  return 77
}
