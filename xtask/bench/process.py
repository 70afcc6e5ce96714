"""Runs a command once for each line on standard input and answers with its times.

usage: process.py FOLDER COMMAND [ARGUMENT...]

`run` gives wall and CPU time from start to end with the whole output read; `memory` gives the
peak of its resident memory, looked at while it runs.
"""

import json
import os
import subprocess
import sys
import threading
import time


def start(folder, command):
    return subprocess.Popen(
        command,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )


def drain(process):
    fd = process.stdout.fileno()
    while os.read(fd, 1 << 20):
        pass


def run(folder, command):
    begun = time.perf_counter_ns()
    process = start(folder, command)
    drain(process)
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter_ns() - begun
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, 1):
        sys.exit(f"{command} ended with {process.returncode}")
    cpu = (usage.ru_utime + usage.ru_stime) * 1e9
    return {"ns_per_call": wall, "cpu_ns_per_call": cpu}


def memory(folder, command):
    process = start(folder, command)
    reader = threading.Thread(target=drain, args=(process,))
    reader.start()
    peak = 0
    while process.poll() is None:
        try:
            with open(f"/proc/{process.pid}/status") as status:
                for line in status:
                    if line.startswith("VmHWM:"):
                        peak = max(peak, int(line.split()[1]))
        except OSError:
            pass
        time.sleep(0.0005)
    reader.join()
    return {"ns_per_call": 0, "peak_kb": peak}


def main():
    folder, command = sys.argv[1], sys.argv[2:]
    for line in sys.stdin:
        answer = memory if line.strip() == "memory" else run
        print(json.dumps(answer(folder, command)), flush=True)


main()
