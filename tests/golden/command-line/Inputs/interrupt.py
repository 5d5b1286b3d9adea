"""Interrupts a command COUNT times at different times, and COUNT times just as its first new file appears.

interrupt.py COUNT FOLDER OLD NEW -- COMMAND. FOLDER must be like OLD or like NEW then.
"""

import filecmp
import os
import shutil
import signal
import subprocess
import sys
import time

count, folder, old, new = int(sys.argv[1]), *sys.argv[2:5]
command = sys.argv[6:]


def same(a, b):
    names = sorted(os.listdir(a))
    return names == sorted(os.listdir(b)) and all(filecmp.cmp(f"{a}/{n}", f"{b}/{n}", shallow=False) for n in names)


def fresh():
    shutil.rmtree(folder)
    shutil.copytree(old, folder)


fresh()
start = time.monotonic()
subprocess.run(command, check=True)
whole_s = time.monotonic() - start


def wait_for_file(process):
    while process.poll() is None and len(os.listdir(folder)) == len(os.listdir(old)):
        pass


def interrupt(when, wait):
    fresh()
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    wait(process)
    process.send_signal(signal.SIGINT)
    said = process.communicate()[1]
    if (process.returncode == 0 or "made already" in said) and same(folder, new):
        return
    # So early that the handler is not there yet, the shell's way of ending is the only one.
    if process.returncode in (2, -signal.SIGINT) and "made already" not in said and same(folder, old):
        return
    sys.exit(f"interrupted {when}: exit {process.returncode}, {said}, files {os.listdir(folder)}")


for i in range(count):
    interrupt(f"after {i + 1}/{count + 1}", lambda _: time.sleep(whole_s * (i + 1) / (count + 1)))
    interrupt("as the first new file appeared", wait_for_file)
