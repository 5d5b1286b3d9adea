#!/usr/bin/env bash
# Installs what is missing, builds, and shows what restride makes of a sample:
# findings, predicted cycles and the diff. Arguments go to restride.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

bash tests/setup.sh
cmake --preset release
cmake --build --preset release --target restride
build/release/bin/restride "$@" samples/particles.cu -- -std=c++17
