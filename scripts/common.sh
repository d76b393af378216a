# Sourced by the other scripts: finds the root, installs what is missing, configures and builds.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"

# Package that gives each file, for what the build and the tests need.
declare -A needed=(
  [/usr/bin/g++]=g++ [/usr/bin/cmake]=cmake [/usr/bin/ninja]=ninja-build [/usr/bin/git]=git
  [/usr/include/zlib.h]=zlib1g-dev [/usr/include/gtest/gtest.h]=libgtest-dev
  [/usr/include/nlohmann/json.hpp]=nlohmann-json3-dev [/usr/include/dnnl.hpp]=libdnnl-dev [/usr/include/openblas_config.h]=libopenblas-dev
  [/usr/include/gloo/allreduce.h]=libgloo-dev
  [/usr/include/jpeglib.h]=libjpeg-dev [/usr/include/png.h]=libpng-dev
  [/usr/include/pybind11/pybind11.h]=pybind11-dev [/usr/include/Python.h]=python3-dev [/usr/lib/python3/dist-packages/numpy/__init__.py]=python3-numpy [/usr/bin/mypy]=mypy
  [/usr/lib/python3/dist-packages/pytest/__init__.py]=python3-pytest [/usr/lib/python3/dist-packages/pytest_subtests.py]=python3-pytest-subtests
)
# Packages without which a wing is not built and its tests are skipped, or tests take longer: large ones, which `install_missing --all` brings for the tests. A system that has
# no such package goes on without it.
declare -A optional=([/usr/lib/llvm-16/include/llvm-c/Core.h]=llvm-16-dev [/usr/bin/mlir-opt-16]=mlir-16-tools [/usr/include/CL/cl.h]=opencl-headers
  [/usr/sbin/ip]=iproute2 [/usr/lib/python3/dist-packages/yaml/__init__.py]=python3-yaml [/usr/lib/x86_64-linux-gnu/libOpenCL.so]=ocl-icd-opencl-dev [/etc/OpenCL/vendors/pocl.icd]=pocl-opencl-icd [/usr/bin/abidiff]=abigail-tools
  [/usr/bin/mpirun]=openmpi-bin [/usr/bin/mpicxx]=libopenmpi-dev [/usr/bin/curl-config]=libcurl4-openssl-dev [/usr/bin/etcd]=etcd-server [/usr/bin/djpeg]=libjpeg-turbo-progs
  [/usr/lib/python3/dist-packages/xdist/__init__.py]=python3-pytest-xdist)

install_missing() {
  local missing=() absent=() sudo="" file
  if [ "$(id -u)" -ne 0 ]; then sudo=sudo; fi
  for file in "${!needed[@]}"; do
    [ -e "$file" ] || find /usr/include -path "*/${file#/usr/include/}" -print -quit 2>/dev/null | grep -q . || missing+=("${needed[$file]}")
  done
  command -v python3 >/dev/null && python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' || missing+=(python3)
  if [ "${1:-}" = --all ] && command -v apt-cache >/dev/null; then
    for file in "${!optional[@]}"; do [ -e "$file" ] || absent+=("${optional[$file]}"); done
    # apt-cache knows no package until the lists are fetched once, as on a fresh container.
    if [ ${#absent[@]} -gt 0 ] && ! compgen -G "/var/lib/apt/lists/*Packages*" >/dev/null; then
      echo "fetching apt's lists of packages"
      $sudo apt-get update -qq >/tmp/cresset-apt.log 2>&1 || echo "apt-get update failed (log in /tmp/cresset-apt.log): no optional packages" >&2
    fi
    for file in "${absent[@]}"; do ! apt-cache show "$file" >/dev/null 2>&1 || missing+=("$file"); done
  fi
  [ ${#missing[@]} -eq 0 ] && return
  command -v apt-get >/dev/null || { echo "missing packages: ${missing[*]}; install them, or run this on Debian or Ubuntu, where apt-get does it" >&2; exit 1; }
  [ -z "$sudo" ] || command -v sudo >/dev/null || { echo "missing packages: ${missing[*]}; run as root, or install sudo" >&2; exit 1; }
  echo "installing ${missing[*]}"
  { $sudo apt-get update -qq && $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}"; } >/tmp/cresset-apt.log 2>&1 ||
    { tail -5 /tmp/cresset-apt.log >&2; echo "apt-get could not install: ${missing[*]} (log in /tmp/cresset-apt.log)" >&2; exit 1; }
}

# build PRESET [TARGET...]
build() {
  local preset=$1
  shift
  cmake --preset "$preset" >"/tmp/cresset-configure-$preset.log" 2>&1 ||
    { tail -20 "/tmp/cresset-configure-$preset.log" >&2; echo "cmake could not configure preset $preset" >&2; exit 1; }
  local targets=()
  [ $# -eq 0 ] || targets=(--target "$@")
  cmake --build --preset "$preset" "${targets[@]}" | progress "building $preset"
}

# Turns the lines of ninja into one line with the share that is done and the time left; without a terminal into a line for each tenth. All else passes.
progress() {
  local terminal=0
  [ ! -t 1 ] || terminal=1
  awk -v title="$1" -v terminal="$terminal" '
    function clock() { "date +%s" | getline now; close("date +%s"); return now }
    function left(seconds) { return seconds >= 90 ? int(seconds / 60 + 0.5) " min" : int(seconds + 0.5) " s" }
    BEGIN { start = clock() }
    /^\[[0-9]+\/[0-9]+\]/ {
      split(substr($1, 2, length($1) - 2), count, "/")
      share = count[1] / count[2]
      if (terminal || int(share * 10) > tenth || count[1] == count[2]) {
        tenth = int(share * 10)
        line = sprintf("%s: %d of %d steps (%d %%), about %s left", title, count[1], count[2], 100 * share, left((clock() - start) * (1 - share) / share))
        if (terminal) printf "\r\033[K%s", line; else print line
        fflush()
        open = terminal
      }
      next
    }
    /^ninja: (Entering|no work)/ { next }
    { if (open) print ""; open = 0; print; fflush() }
    END { if (open) print "" }'
}
