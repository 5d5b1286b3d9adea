# Golden tests. A test is a .cu or .test file with RUN lines; substitutions:
#   %restride      the tool, with the toolkit that the tests use
#   %emit-variants the tool where nothing is to be ranked: the model that asks no
#                  ptxas takes a third of the time
#   %clang-cuda    clang++ with the toolkit
#   %compile-both  the same for host and device, which only looks for errors:
#                  %compile-both FILE... [FLAGS], without a -std
#   %compile-host  as a plain C++ translation unit would see a header
#   %samples       the samples folder
#   %docs          the documentation
#   %toolkit, %tool   the CUDA Toolkit, and the tool without it
#   %python        the interpreter that runs lit
#   %strip         the file without its lines for lit and FileCheck, so that
#                  these stand beside the line they are about
#   %exits N CMD   CMD must exit with N, where "not" would take any failure
# FileCheck, split-file, not and count are LLVM's.
import os
import shutil
import subprocess
import sys

import lit.formats

config.name = "restride"
config.test_format = lit.formats.ShTest(False)
config.suffixes = [".cu", ".test"]
config.excludes = ["Inputs", "gpu", "benchmark", "emulation", "corpus", "random", "restore"]
config.test_source_root = os.path.dirname(__file__)

cuda = "--cuda-path=" + config.cuda_path
clang_cuda = (
    f"{config.clangxx} -x cuda {cuda} --cuda-gpu-arch=sm_90 -isystem {config.cuda_path}/include/cccl -Wno-unknown-cuda-version"
)
# Most of the time of a compilation goes into the toolkit's headers, which clang++ includes first.
headers = os.path.join(config.test_exec_root, "toolkit")
for side in ("host", "device"):
    subprocess.run(
        [*clang_cuda.split(), f"--cuda-{side}-only", "-S", "-Xclang", "-emit-pch", "-o", f"{headers}.{side}", os.devnull], check=True
    )
config.substitutions += [
    ("%restride", f"{config.restride} {cuda}"),
    ("%emit-variants", f"{config.restride} {cuda} --quiet --cost-model=thesis --emit-variants"),
    (
        "%compile-both",
        f"""sh -c 'for side in host device; do {clang_cuda} --cuda-$side-only -fsyntax-only """
        f"""-Xclang -include-pch -Xclang {headers}.$side "$@" || exit 1; done' compile-both""",
    ),
    ("%clang-cuda", clang_cuda),
    ("%compile-host", f"{config.clangxx} -x c++ -isystem {config.cuda_path}/include -fsyntax-only"),
    ("%exits", """sh -c 'want=$1; shift; "$@"; got=$?; test $got = $want || { echo exit $got; exit 1; }' exits"""),
    ("%strip", "sed '/^ *// [A-Z][A-Z0-9-]*:/d'".replace("//", r"\/\/")),
    ("%python", sys.executable),
    ("%samples", os.path.join(config.source_root, "samples")),
    ("%docs", os.path.join(config.source_root, "docs")),
    ("%toolkit", config.cuda_path),
    ("%tool", config.restride),
]
# Generated code is formatted as the nearest .clang-format says: here, in long lines.
with open(os.path.join(config.test_exec_root, ".clang-format"), "w") as style:
    style.write("BasedOnStyle: LLVM\nColumnLimit: 120\n")
config.environment["PATH"] = os.pathsep.join([config.llvm_tools_dir, os.environ.get("PATH", "")])
# Precompiled headers of the tests, and not those of the user. What an earlier test run printed is no test.
config.environment["XDG_CACHE_HOME"] = os.path.join(config.test_exec_root, "cache")
shutil.rmtree(config.environment["XDG_CACHE_HOME"], ignore_errors=True)
for name in ("ninja", "cmake"):
    if shutil.which(name):
        config.available_features.add(name)
# The tests name the toolkit; what the machine says does not matter to them.
for name in ("CUDA_PATH", "CUDA_HOME"):
    config.environment.pop(name, None)
if config.cuda_path and os.path.isdir(config.cuda_path):
    config.available_features.add("cuda")
else:
    lit_config.fatal("no CUDA Toolkit; configure with -DRESTRIDE_TEST_CUDA_PATH=DIR")
