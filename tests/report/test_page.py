"""The HTML report in headless Chromium. RESTRIDE names the tool, CHROMIUM the browser."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

SAMPLES = pathlib.Path(__file__).resolve().parents[2] / "samples"

# What the page can be made to do, and what it then is. Runs behind the page's own script.
PROBE = """
<script>
addEventListener('load', () => {
  const result = { title: document.title, width: innerWidth, overflow: document.documentElement.scrollWidth - innerWidth,
    sections: document.querySelectorAll('section').length, images: document.images.length, scripts: document.scripts.length };
  const graph = document.querySelector('.graph');
  if (graph) {
    const picture = graph.querySelector('svg'), before = picture.getAttribute('viewBox');
    graph.focus();
    graph.dispatchEvent(new KeyboardEvent('keydown', { key: '+', bubbles: true }));
    result.zooms = document.activeElement === graph && picture.getAttribute('viewBox') !== before;
    graph.dispatchEvent(new KeyboardEvent('keydown', { key: '0', bubbles: true }));
    result.fits = picture.getAttribute('viewBox') === before;
    result.nodes = graph.querySelectorAll('g').length;
    result.memory = document.querySelectorAll('svg.memory').length;
    result.chips = document.querySelectorAll('.chip').length;
    const radios = document.querySelectorAll('section input[type=radio]');
    radios[0].focus();
    radios[0].click();
    const chosen = document.querySelector('section input:checked');
    result.keepsFocus = document.activeElement === chosen && chosen.value === '0';
    result.onePicture = document.querySelectorAll('#c0 svg.memory').length;
  }
  result.added = document.querySelectorAll('.diff .add').length;
  document.body.dataset.result = JSON.stringify(result);
});
</script>
"""


class Page(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="restride-report-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def report(self, source, *options):
        page = self.folder / "report.html"
        done = subprocess.run(
            [os.environ["RESTRIDE"], *options, f"--report={page}", source, "--", "-std=c++17"],
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.assertEqual(done.returncode, 0, done.stdout)
        return page.read_text()

    def open(self, text, width):
        """What PROBE found; the console must stay empty."""
        (self.folder / "probed.html").write_text(text.replace("</body>", PROBE + "</body>"))
        # A window has a least width, a frame has none.
        frame = self.folder / "frame.html"
        frame.write_text(
            f"<!DOCTYPE html><title>frame</title><iframe src='probed.html' style='width:{width}px;height:2000px;border:0'></iframe>"
            "<script>setTimeout(() => { document.body.dataset.result = "
            "document.querySelector('iframe').contentDocument.body.dataset.result; }, 500);</script>"
        )
        done = subprocess.run(
            [
                os.environ["CHROMIUM"],
                "--headless=new",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--no-first-run",
                "--allow-file-access-from-files",
                "--enable-logging=stderr",
                f"--user-data-dir={self.folder / 'profile'}",
                "--virtual-time-budget=5000",
                "--dump-dom",
                frame.as_uri(),
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            timeout=120,
        )
        console = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
        self.assertEqual(console, [])
        found = re.search(r'data-result="([^"]*)"', done.stdout)
        self.assertTrue(found, done.stdout[-2000:] + done.stderr[-2000:])
        return json.loads(found.group(1).replace("&quot;", '"'))

    def test_sample(self):
        text = self.report(str(SAMPLES / "stencil.cu"))
        self.assertIsNone(re.search(r'(src|href)="https?:', text), "nothing comes from elsewhere")
        for width in (1280, 400):
            with self.subTest(width=width):
                result = self.open(text, width)
                self.assertEqual(result["width"], width)
                self.assertLessEqual(result["overflow"], 0, "the page is not wider than its window")
                self.assertEqual(result["sections"], 2, "an array and the diff")
                self.assertTrue(result["zooms"] and result["fits"] and result["keepsFocus"], result)
                self.assertGreater(result["nodes"], 0)
                self.assertEqual(result["memory"], 2, "as it is, and as it would be")
                self.assertEqual(result["onePicture"], 1)
                self.assertGreater(result["chips"], 2)
                self.assertGreater(result["added"], 3)

    def test_hostile_names(self):
        name = "<img src=x onerror=\"document.title='owned'\">&quot;'.cu"
        (self.folder / name).write_text(
            """// </script><script>document.title = 'owned'</script><!-- <script> /*SCRIPT*/ \u2028 \\u003c
struct P { float x, y; };
__global__ void step(P *p, int n) { // "</script><img src=x>"
  int i = threadIdx.x;
  if (i < n)
    p[i].x += p[i].y;
}
int main() {
  P *p;
  cudaMalloc(&p, 1000 * sizeof(P));
  step<<<1, 256>>>(p, 1000);
}
"""
        )
        result = self.open(self.report(name, "--layout=soa"), 400)
        self.assertEqual((result["title"], result["images"], result["scripts"]), ("restride report", 0, 3))
        self.assertLessEqual(result["overflow"], 0)
        self.assertGreater(result["chips"], 0)

    def test_nothing_found(self):
        (self.folder / "empty.cu").write_text("")
        result = self.open(self.report("empty.cu"), 400)
        self.assertEqual(result["sections"], 0)


if __name__ == "__main__":
    unittest.main()
