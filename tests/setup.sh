#!/usr/bin/env bash
# Installs what building and testing need and is not there yet (Debian 12).
# Does nothing the second time. The CUDA Toolkit must be there already.
set -euo pipefail

packages=(
  g++ cmake ninja-build ccache python3 patch git pre-commit python3-jsonschema chromium
  clang-22 clang-tools-22 llvm-22-dev llvm-22-tools libclang-22-dev libclang-cpp22-dev
  libyaml-cpp-dev libgtest-dev
)

missing=()
for package in "${packages[@]}"; do
  status=$(dpkg-query --show --showformat='${db:Status-Abbrev}' "$package" 2>/dev/null || true)
  [[ $status == ii* ]] || missing+=("$package")
done

if ((${#missing[@]})); then
  root=()
  if ((EUID != 0)); then
    command -v sudo >/dev/null || {
      echo "setup.sh: as root, run: apt-get install ${missing[*]}" >&2
      exit 1
    }
    root=(sudo)
  fi
  "${root[@]}" apt-get update
  "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends "${missing[@]}"
fi

for toolkit in "${CUDA_PATH:-}" "${CUDA_HOME:-}" "$(command -v nvcc || true)" /usr/local/cuda; do
  [[ -n $toolkit && -e $toolkit ]] && exit 0
done
echo "setup.sh: no CUDA Toolkit; install one and set CUDA_PATH" >&2
exit 1
