# shellcheck shell=bash
# ./mk test --fresh: what a new user meets. A clone of the checkout's last commit in a bare Debian 12, which has git, the
# machine's certificates, and its settings for names, proxies and package sources, and nothing else.

first_token_limit_s=600
fresh_prompt="Explain what a GPU is in one sentence."

run_fresh_test() {
  ((EUID == 0)) || exec sudo -- ./mk test --fresh
  install_packages debootstrap git
  fresh=$(mktemp -d)
  chmod 755 -- "$fresh"
  trap 'rm -rf --one-file-system -- "$fresh"' EXIT
  make_chroot
  copy_machine_settings
  git -c safe.directory='*' clone --quiet --bare --depth 1 "file://$PWD" "$fresh/srv/checkout.git"

  local started first_token
  started=$(now)
  in_chroot "git clone --quiet /srv/checkout.git /srv/megakernels"
  stamp_first_byte "$fresh/first_token" < <(in_clone "./mk generate '$fresh_prompt'" || touch "$fresh/failed")
  [[ ! -e $fresh/failed && -s $fresh/first_token ]] || fail "generate failed in a fresh clone"
  first_token=$(($(<"$fresh/first_token") - started))
  say "fresh: clone to first token: $first_token s (limit $first_token_limit_s s)"
  ((first_token <= first_token_limit_s)) || fail "the first token came too late"

  timed "test" "./mk test"
  timed "generate again" "./mk generate '$fresh_prompt'" without_set_up
  timed "test again" "./mk test" without_set_up
  say "fresh: passed"
}

now() { date +%s; }

make_chroot() {
  local mirror started
  mirror=${MK_DEBIAN_MIRROR:-$(debian_mirror)}
  [[ -n $mirror ]] || fail "the machine's package sources name no Debian mirror; set MK_DEBIAN_MIRROR"
  started=$(now)
  debootstrap --variant=minbase --include=git bookworm "$fresh" "$mirror" >"$fresh.log" 2>&1 ||
    { cat "$fresh.log" >&2 && fail "debootstrap failed"; }
  rm -f -- "$fresh.log"
  say "fresh: made a bare Debian 12 in $(($(now) - started)) s"
}

# The first source of the machine that has the suite bookworm itself (not its updates).
debian_mirror() {
  { cat /etc/apt/sources.list /etc/apt/sources.list.d/*.{list,sources} 2>/dev/null || true; } | awk '
    $1 == "deb" { for (i = 2; i < NF; i++) if ($i ~ /:\/\// && $(i + 1) == "bookworm") { print $i; exit } }
    $1 == "URIs:" { uri = $2 }
    $1 == "Suites:" && / bookworm( |$)/ { print uri; exit }'
}

copy_machine_settings() {
  local path paths=(/etc/resolv.conf /etc/hosts /etc/ssl/certs /usr/local/share/ca-certificates /etc/pip.conf
    /etc/apt/sources.list /etc/apt/sources.list.d /etc/apt/keyrings /etc/apt/auth.conf /etc/apt/auth.conf.d)
  # Where pip finds packages without the network.
  for path in ${PIP_FIND_LINKS:-}; do
    [[ $path != /* ]] || paths+=("$path")
  done
  for path in "${paths[@]}"; do
    [[ -e $path ]] || continue
    mkdir -p -- "$fresh$(dirname -- "$path")"
    rm -rf -- "${fresh:?}$path"
    cp --recursive --dereference -- "$path" "$fresh$path"
  done
  apt-config dump | grep -E '^Acquire::(https?|Check|Retries|Languages)' >"$fresh/etc/apt/apt.conf.d/50machine" || true
}

# in_chroot COMMAND: mounts and processes end with the command, however it ends.
in_chroot() {
  local settings=() name
  for name in $(compgen -e | grep -E '^(PIP_.*|SSL_CERT_.*|.*_CA_BUNDLE|GIT_SSL_.*|.*_(proxy|PROXY))$'); do
    settings+=("$name=${!name}")
  done
  # shellcheck disable=SC2016 # expanded by the inner shell
  unshare --mount --pid --fork --kill-child bash -euc '
    mount -t proc proc "$1/proc"
    mount -t sysfs -o ro sysfs "$1/sys"
    mount -t tmpfs tmpfs "$1/dev/shm"
    exec chroot "$1" /usr/bin/env -i "${@:3}" bash -euc "$2"
  ' in_chroot "$fresh" "$1" \
    HOME=/srv PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 CI=true \
    "${settings[@]}" </dev/null
}

in_clone() { in_chroot "cd /srv/megakernels && $1"; }

# Copies stdin to stdout and notes in FILE when its first byte came.
stamp_first_byte() {
  local byte
  IFS= read -r -d '' -n 1 byte || return 0
  now >"$1"
  printf %s "$byte"
  cat
}

# timed NAME COMMAND [without_set_up]
timed() {
  local started
  started=$(now)
  { in_clone "$2" 2>&1 >&3 | tee "$fresh/messages" >&2; } 3>&1 || fail "fresh: $1 failed"
  say "fresh: $1 took $(($(now) - started)) s"
  [[ ${3:-} != without_set_up ]] || ! grep '^mk: set-up:' "$fresh/messages" || fail "fresh: $1 repeated set-up"
}
