# shellcheck shell=bash
# ./mk test

# What this run leaves out, and why.
left_out=()

run_tests() {
  case ${1:-} in
    --fresh) run_fresh_test ;;
    --sanitizers)
      shift
      run_sanitizers "$@"
      ;;
    --long)
      shift
      export MK_LONG=1
      run_all "$@"
      ;;
    *) run_all "$@" ;;
  esac
}

# With nvcc everything is built once, in the preset that also has the CUDA code.
run_all() {
  local preset=dev
  install_packages
  (fetch_model) || left_out+=("the tests of the real model: it could not be fetched")
  if find_nvcc; then
    preset=cuda
    (install_cuda_tools) || left_out+=("the machine code of the kernels: what reads it could not be fetched")
    [[ -e /dev/nvidiactl ]] || left_out+=("the tests on a GPU: this machine has none")
  else
    left_out+=("the CUDA code: there is no nvcc")
  fi
  build "$preset"
  [[ $preset != cuda || -z ${MK_LONG:-} ]] || compile_for_other_gpus
  # Each commit has random graphs of its own.
  export MK_SEED=${MK_SEED:-$((16#$(git -c safe.directory='*' rev-parse --short=7 HEAD 2>/dev/null || echo 1)))}
  run_ctest "$preset" "$@"
  python3 tools/gpu_receipt.py
  summarize "$preset"
}

# The kernels are for Hopper. Primitives must compile for other GPUs as well, each for those that have what it uses, and
# a kernel instance for later ones. What does not compile ends the command.
compile_for_other_gpus() {
  local probes=tests/probes kernels=build/cuda/runtime/kernels
  compile_for "80 100a 120a" examples/tylo/kernels.cu "$probes"/{fragments,online_softmax,fragment_memory}.cu
  compile_for "100a 120a" examples/tylo/fragment_kernels.cu "$probes"/{reductions,cta_reductions,fixed_memory,pack}.cu \
    "$kernels/llama/llama.cu"
}

# compile_for "ARCHITECTURE..." FILE...
compile_for() {
  local architecture file targets=()
  for architecture in $1; do
    targets+=(-gencode "arch=compute_$architecture,code=sm_$architecture")
  done
  for file in "${@:2}"; do
    say "compiling $file for ${1// /, }"
    "$CUDACXX" -std=c++20 --expt-relaxed-constexpr -O2 --threads 2 -Ibuild/cuda/include \
      -I"$(dirname -- "$file")/include" "${targets[@]}" -c "$file" -o /dev/null || fail "$file does not compile"
  done
}

# On a machine without a GPU it builds the programs and says how another machine runs them.
run_gpu_tests() {
  local programs runner
  install_packages
  need_nvcc
  (fetch_model) || say "the real model could not be fetched"
  build cuda gpu-tests
  mapfile -t programs < <(sed 's|^|build/cuda/|' build/cuda/gpu-tests.txt)
  runner=(python3 tools/gpu_tests.py --out tests/cuda/receipt.json --hash "$(python3 tools/device_hash.py)"
    --toolkit "$(toolkit_version)" --commit "$(git -c safe.directory='*' rev-parse HEAD)"
    --binaries "${programs[@]}")
  [[ -e /dev/nvidiactl ]] || fail "this machine has no GPU; take the programs to one that has, and run: ${runner[*]}"
  "${runner[@]}"
}

run_sanitizers() {
  local preset
  left_out+=("the examples and the real model under sanitizers: too slow")
  left_out+=("of the emulator under sanitizers: sites left out, unfair schedules, random lanes, most random graphs")
  left_out+=("of the emulator under sanitizers: rows of operations, fragments")
  left_out+=("under the thread sanitizer: all but the runtime, which alone has threads")
  install_packages
  build asan
  run_ctest asan "$@"
  build tsan test-runtime
  run_ctest tsan --label-regex '^runtime$' "$@"
  summarize asan tsan
}

# A failed test shows in the summary: the rest is still run.
run_ctest() {
  local preset=$1 launcher=()
  shift
  # The thread sanitizer of g++ 12 does not start under the widest address randomisation.
  [[ $preset != tsan ]] || ! setarch --addr-no-randomize true 2>/dev/null || launcher=(setarch --addr-no-randomize)
  rm -f -- "build/$preset/results.xml"
  "${launcher[@]}" ctest --preset "$preset" --parallel "$(nproc)" --progress --output-junit results.xml "$@" \
    </dev/null || true
}

# Fails where a test failed or a preset has no result.
summarize() {
  local reason
  for reason in "${left_out[@]}"; do
    echo "left out: $reason"
  done
  python3 tools/summary.py "${@/#/build/}"
}
