"""Interrupts a command at different times: COUNT FOLDER OLD NEW -- COMMAND. FOLDER must be like OLD or like NEW then."""

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
for i in range(count):
    fresh()
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    time.sleep(whole_s * (i + 1) / (count + 1))
    process.send_signal(signal.SIGINT)
    said = process.communicate()[1]
    if process.returncode == 0 and same(folder, new):
        continue
    # So early that the handler is not there yet, the shell's way of ending is the only one.
    if process.returncode in (2, -signal.SIGINT) and same(folder, old):
        continue
    sys.exit(f"interrupted after {i + 1}/{count + 1}: exit {process.returncode}, {said}, files {os.listdir(folder)}")
