"""The hook in the real pre-commit: RESTRIDE names the tool, which takes the toolkit from CUDA_PATH."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import time
import unittest

PROJECT = pathlib.Path(__file__).resolve().parents[2]

# Few fields of a large record are read: another layout is far faster.
BAD = """\
struct Cell {
  float a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p;
};
__global__ void step(Cell *cells, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    cells[i].a += 1;
}
int main() {
  int n = 1 << 24;
  Cell *cells;
  cudaMalloc(&cells, n * sizeof(Cell));
  step<<<n / 256, 256>>>(cells, n);
  cudaFree(cells);
}
"""
PLAIN = "#include <vector>\nint size() { return std::vector<int>(3).size(); }\n"
# No candidate, and a parse is needed to know.
KERNEL = """\
__global__ void scale(float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    x[i] *= 2;
}
"""


class Hook(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="restride-hook-"))
        self.addCleanup(shutil.rmtree, self.folder)
        (self.folder / "bin").mkdir()
        (self.folder / "bin/restride").symlink_to(os.environ["RESTRIDE"])
        # Nothing of the machine's own git and pre-commit counts.
        self.environment = {
            **os.environ,
            "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}",
            "HOME": str(self.folder),
            "PRE_COMMIT_HOME": str(self.folder / "cache"),
            "GIT_CONFIG_GLOBAL": str(self.folder / "gitconfig"),
            "GIT_CONFIG_NOSYSTEM": "1",
        }
        (self.folder / "gitconfig").write_text(
            "[user]\n name = Test\n email = test@example.com\n[init]\n defaultBranch = main\n[advice]\n detachedHead = false\n"
        )
        self.hooks = self.repository("restride")
        shutil.copy(PROJECT / ".pre-commit-hooks.yaml", self.hooks)
        self.git("add", ".", at=self.hooks)
        self.git("commit", "-m", "hooks", at=self.hooks)
        self.project = self.repository("project")

    def repository(self, name):
        path = self.folder / name
        path.mkdir()
        self.git("init", at=path)
        return path

    def run_in(self, path, *command):
        return subprocess.run(
            command, cwd=path, env=self.environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )

    def git(self, *arguments, at):
        done = self.run_in(at, "git", *arguments)
        self.assertEqual(done.returncode, 0, done.stdout)
        return done.stdout

    def install(self, hook, *arguments):
        rev = self.git("rev-parse", "HEAD", at=self.hooks).strip()
        listed = "".join(f'"{argument}", ' for argument in arguments)
        (self.project / ".pre-commit-config.yaml").write_text(
            f"repos:\n- repo: {self.hooks}\n  rev: {rev}\n  hooks:\n  - id: {hook}\n    args: [{listed}]\n    verbose: true\n"
        )
        done = self.run_in(self.project, "pre-commit", "install")
        self.assertEqual(done.returncode, 0, done.stdout)

    def commit(self, **files):
        for name, text in files.items():
            (self.project / name.replace("_", ".")).write_text(text)
        self.git("add", ".", at=self.project)
        return self.run_in(self.project, "git", "commit", "-m", "change")

    def test_fixes(self):
        self.install("restride")
        done = self.commit(sim_cu=BAD, plain_cpp=PLAIN)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("files were modified by this hook", done.stdout)
        self.assertIn("sim.cu:1:8: remark: array of 'Cell' ('cells') is faster as soa", done.stdout)
        self.assertIn("struct CellSoA", (self.project / "sim.cu").read_text())
        self.assertEqual((self.project / "plain.cpp").read_text(), PLAIN)
        done = self.commit()
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn("CellSoA", self.git("show", "HEAD:sim.cu", at=self.project))

    def test_check(self):
        self.install("restride-check")
        done = self.commit(sim_cu=BAD)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("exit code: 1", done.stdout)
        self.assertEqual((self.project / "sim.cu").read_text(), BAD)

    def test_each_file_alone(self):
        # One program with two main functions, if they were taken together.
        self.install("restride")
        self.commit(a_cu=BAD, b_cu=BAD)
        for name in ("a.cu", "b.cu"):
            self.assertIn("struct CellSoA", (self.project / name).read_text())

    def test_skips_what_does_not_parse(self):
        broken = '#include "generated/settings.h"\n' + BAD
        self.install("restride")
        done = self.commit(sim_cu=broken)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn("note: 'sim.cu' does not parse: 'generated/settings.h' file not found; skipped", done.stdout)
        self.install("restride", "--strict")
        done = self.commit(sim_cu=broken + "\n")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("exit code: 2", done.stdout)
        self.assertIn("sim.cu:1:10: fatal error: 'generated/settings.h' file not found", done.stdout)

    def test_database(self):
        # Two files that are one program there, with a flag that they need.
        (self.project / "compile_commands.json").write_text(
            str(
                [
                    {"directory": str(self.project), "file": name, "command": f"nvcc -DWIDTH=24 -c {name}"}
                    for name in ("kernel.cu", "host.cu")
                ]
            ).replace("'", '"')
        )
        kernel, host = BAD.split("int main() {\n")
        self.install("restride")
        done = self.commit(
            p_h='#pragma once\n' + kernel.split("__global__")[0] + "void run(Cell *cells, int n);\n",
            kernel_cu='#include "p.h"\n__global__' + kernel.split("__global__")[1]
            + "void run(Cell *cells, int n) { step<<<n / 256, 256>>>(cells, n); }\n",
            host_cu='#include "p.h"\nint main() {\n'
            + host.replace("1 << 24", "1 << WIDTH").replace("step<<<n / 256, 256>>>(", "run("),
        )
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("struct CellSoA", (self.project / "p.h").read_text())

    def test_nothing_to_do_is_fast(self):
        files = {f"plain{i}.cpp": PLAIN for i in range(10)}
        files.update({f"kernel{i}.cu": KERNEL for i in range(4)})
        for name, text in files.items():
            (self.project / name).write_text(text)
        for names, limit in ((sorted(files)[4:], 0.05), (sorted(files)[:4], 0.5)):
            begin = time.monotonic()
            done = self.run_in(self.project, "restride", "--hook", "--check", *names)
            seconds = (time.monotonic() - begin) / len(names)
            self.assertEqual((done.returncode, done.stdout), (0, ""))
            print(f"{seconds:.3f} s per file: {names[0]} and {len(names) - 1} like it")
            # The machine may be busy: the limit is what one file may take here, several times over.
            self.assertLess(seconds, limit * 6)


if __name__ == "__main__":
    unittest.main()
