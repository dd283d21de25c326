#!/usr/bin/env python3
"""The benchmark's driver: prints one table, work by work: bare side, ours, ratio, target.

Method. "Bare" is bench_bare: the least that a daemon on the same gRPC callback API can do with the same bytes on the
wire (an echo from a reactor of its own; a relay over the same batched stream), without look-up, parsing, validation,
limits, counters and log. "Ours" is toolrackd with its default limits. Both are built by the same compiler with the same
flags, linked to gRPC in the same way, and both switch Abseil's search for lock cycles off. Both stand as processes of
their own during the whole of a work; bench_load (callback API, a closed loop with N calls in flight on one connection)
and bench_worker are the same for both.

 - CPU per call: the daemon's CPU clock (all its threads, user and system) over the calls answered in the window. This is
   the figure to compare: it moves by some 10 % on a busy machine, where calls per second move by a factor of two.
 - Each repetition runs one side directly after the other, the order swapped from one to the next. A side's figure is the
   median over the repetitions; the ratio is the median of the ratios of the pairs, so that a slow spell hits both.
 - Instructions per call: the daemon under callgrind, its total after many calls less its total after few, over the
   difference. User space only, and threads take turns there; but it repeats within 2 % however busy the machine is.
 - Memory: resident set of a fresh daemon before and after N idle connections, workers or calls that sleep, divided by N.
   "Above bare" is the difference of the two.
 - Start: from exec to the first SERVING of grpc.health.v1, seen by a client that is up already.
 - Micro-benchmarks (bench_micro, Google Benchmark): CPU time, the median of their repetitions.

Everything is on this machine: Unix sockets in a temporary directory, and 127.0.0.1. Every run is bounded in time; the
driver stops what it started. Numbers are for reading, never for a test to pass or fail on: the exit code is 0 when all
works ran.
"""

import argparse
import json
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

ARGUMENTS = json.dumps({
    "path": "/srv/data/reports/2026/quarter-4/summary-of-everything.txt",
    "text": "the quick brown fox jumps over the lazy dog again",
    "limit": 500, "recursive": True, "mode": "lines", "tags": ["alpha", "beta", "gamma"]}, separators=(",", ":"))
# The same length for the built-in echo, whose only argument is `text`.
ECHO_ARGUMENTS = json.dumps({"text": "x" * (len(ARGUMENTS) - len('{"text":""}'))}, separators=(",", ":"))


def note(text):
    print(text, file=sys.stderr, flush=True)


class Failed(Exception):
    pass


class Process:
    """A child that says a line when it is ready and ends when its input does."""

    def __init__(self, command, ready, env=None, log=None):
        self.log = log
        stderr = open(log, "ab") if log else None
        self.child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr, text=True,
                                      env=env)
        self.pid = self.child.pid
        self.line = ""
        if ready:
            self.line = self.child.stdout.readline().strip()
            if not self.line.startswith(ready):
                self.stop()
                raise Failed(f"{command[0]} said {self.line!r} instead of {ready!r}; see {log}")

    def stop(self):
        if self.child.poll() is None:
            self.child.stdin.close()
            try:
                self.child.wait(60)
            except subprocess.TimeoutExpired:
                self.child.kill()
        self.child.wait()
        self.child.stdout.close()
        return self.child.returncode

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.stop()


def status_field(pid, field):
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return int(re.search(rf"^{field}:\s+(\d+)", file.read(), re.M).group(1))


def rss_kib(pid):
    return status_field(pid, "VmRSS")


def threads(pid):
    return status_field(pid, "Threads")


def cpu_seconds(pid):
    return time.clock_gettime((~pid << 3) | 2)  # the process's CPU clock: clock_getcpuclockid(3)


def wait_quiet(pid, longest=30):
    """Returns when the process used less than 2 % of a core for half a second."""
    end = time.monotonic() + longest
    while time.monotonic() < end:
        before = cpu_seconds(pid)
        time.sleep(0.5)
        if cpu_seconds(pid) - before < 0.010:
            return


class Bench:
    def __init__(self, options):
        self.options = options
        self.bin = options.bin
        self.dir = tempfile.mkdtemp(prefix="toolrack-bench-")
        self.rows = []
        self.serial = 0

    def tool(self, name):
        return os.path.join(self.bin, name)

    def row(self, work, bare, ours, ratio, target):
        self.rows.append((work, bare, ours, ratio, target))
        note("  " + " | ".join(self.rows[-1]))

    # The two sides. Each gives an object with pid, agent and worker (addresses), tcp (address).

    def bare(self, wrap=(), log="bare.log"):
        self.serial += 1
        socket = f"unix:{self.dir}/bare-{self.serial}.sock"
        side = Process([*wrap, self.tool("bench_bare"), f"--listen={socket}", "--tcp=1"], "serving",
                       log=f"{self.dir}/{log}")
        side.agent = side.worker = socket
        side.tcp = side.line.split()[1]
        side.name = "bare"
        return side

    def daemon_files(self, calls_logged):
        self.serial += 1
        runtime = f"{self.dir}/ours-{self.serial}"
        os.mkdir(runtime, 0o750)
        config = f"{self.dir}/ours-{self.serial}.yaml"
        with open(config, "w", encoding="utf-8") as file:
            file.write(f"log:\n  file: {runtime}/daemon.log\n  calls: {'true' if calls_logged else 'false'}\n")
        return runtime, config

    def daemon_command(self, runtime, config, tcp=True):
        command = [self.tool("toolrackd"), "--config", config, "--runtime-dir", runtime]
        return command + (["--listen", "127.0.0.1:0"] if tcp else [])

    def ours(self, calls_logged=False, wrap=(), log="ours.log"):
        runtime, config = self.daemon_files(calls_logged)
        side = Process([*wrap, *self.daemon_command(runtime, config)], None, log=f"{self.dir}/{log}")
        side.agent = f"unix:{runtime}/agent.sock"
        side.worker = f"unix:{runtime}/worker.sock"
        side.tcp = None
        side.name = "ours"
        end = time.monotonic() + 60
        while not self.reachable(side.agent):
            if time.monotonic() > end or side.child.poll() is not None:
                side.stop()
                raise Failed(f"toolrackd does not answer; see {self.dir}/{log}")
            time.sleep(0.02)
        side.tcp = self.tcp_of(side.pid)
        side.stop = lambda: self.terminate(side)
        return side

    @staticmethod
    def terminate(side):
        if side.child.poll() is None:
            side.child.send_signal(signal.SIGTERM)
            try:
                side.child.wait(30)
            except subprocess.TimeoutExpired:
                side.child.kill()
        side.child.wait()
        side.child.stdin.close()
        side.child.stdout.close()
        return side.child.returncode

    def reachable(self, target):
        return subprocess.run([self.tool("bench_load"), "--do=call", f"--target={target}", "--tool=echo",
                               f"--args={ECHO_ARGUMENTS}", "--calls=1"], stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL, check=False).returncode == 0 \
            if os.path.exists(target[len("unix:"):]) else False

    @staticmethod
    def tcp_of(pid):
        """The loopback port that the process listens on."""
        inodes = set()
        for fd in os.listdir(f"/proc/{pid}/fd"):
            try:
                inodes.add(os.readlink(f"/proc/{pid}/fd/{fd}"))
            except OSError:
                pass
        with open(f"/proc/{pid}/net/tcp", encoding="ascii") as file:
            for line in list(file)[1:]:
                words = line.split()
                if words[3] == "0A" and f"socket:[{words[9]}]" in inodes:
                    return f"127.0.0.1:{int(words[1].split(':')[1], 16)}"
        return None

    # Loads.

    def load(self, side, address, tool, arguments, in_flight, seconds=None):
        seconds = seconds or self.options.seconds
        run = subprocess.run(
            [self.tool("bench_load"), "--do=call", f"--target={address}", f"--tool={tool}", f"--args={arguments}",
             f"--in-flight={in_flight}", f"--seconds={seconds}", f"--cpu-of={side.pid}",
             # A count, so that a slow machine cannot make the window empty.
             f"--calls={2 * in_flight if self.options.smoke else 0}"], capture_output=True, text=True, timeout=120, check=False)
        if run.returncode != 0:
            raise Failed(f"load on {side.name}: {run.stdout} {run.stderr}")
        result = json.loads(run.stdout)
        if result["calls"] == 0:
            raise Failed(f"load on {side.name}: no call was answered within {seconds} s")
        result["cpu"] = result["cpu_us"][0]
        return result

    def alternate(self, sides, measure):
        """`measure(side)` for both sides, one after the other, order swapped each time. Lists by side name."""
        results = {side.name: [] for side in sides}
        for repetition in range(self.options.reps):
            for side in sides if repetition % 2 == 0 else sides[::-1]:
                results[side.name].append(measure(side))
        return results

    def compare(self, work, results, targets):
        """One row per figure."""
        labels = {"cpu": ("daemon CPU a call", "{:.1f} µs"), "rps": ("calls a second", "{:.0f}"),
                  "p50_us": ("p50", "{:.0f} µs"), "p99_us": ("p99", "{:.0f} µs")}
        for key, (label, form) in labels.items():
            bare = [r[key] for r in results["bare"]]
            ours = [r[key] for r in results["ours"]]
            self.row(f"{work}: {label}", form.format(statistics.median(bare)), form.format(statistics.median(ours)),
                     ratio(statistics.median(o / b for o, b in zip(ours, bare)), 1), targets.get(key, ""))

    # Works.

    def echo(self):
        for calls_logged in (False, True):
            with self.bare() as bare, self.ours(calls_logged) as ours:
                for kind, in_flight in ((("unix", 1), ("unix", 64), ("unix", 256), ("tcp", 64)) if not calls_logged
                                        else (("unix", 64),)):
                    results = self.alternate((bare, ours), lambda side: self.load(
                        side, side.agent if kind == "unix" else side.tcp, "echo", ECHO_ARGUMENTS, in_flight))
                    note("  response bytes: bare {}, ours {}".format(
                        *(results[s][0]["response_bytes"] for s in ("bare", "ours"))))
                    log = ", access log on" if calls_logged else ""
                    targets = {"cpu": "≤ 1.25", "rps": "≥ 0.80"} if in_flight > 1 else {}
                    self.compare(f"echo, {kind}, {in_flight} in flight{log}", results, targets)

    def relay(self):
        with self.bare() as bare, self.ours() as ours:
            workers = [Process([self.tool("bench_worker"), f"--target={side.worker}"], "attached",
                               log=f"{self.dir}/worker.log") for side in (bare, ours)]
            try:
                for kind, in_flight in ("unix", 1), ("unix", 64), ("unix", 256), ("tcp", 64):
                    results = self.alternate((bare, ours), lambda side: self.load(
                        side, side.agent if kind == "unix" else side.tcp, "bench-0__echo", ARGUMENTS, in_flight))
                    targets = {"cpu": "≤ 1.30", "p50_us": "≤ 1.20"} if in_flight > 1 else {}
                    self.compare(f"relay, {kind}, {in_flight} in flight", results, targets)
                    if in_flight == 1:
                        direct = statistics.median(
                            self.load(bare, bare.agent, "echo", ARGUMENTS, 1)["p50_us"]
                            for _ in range(self.options.reps))
                        added = {name: statistics.median(r["p50_us"] for r in results[name]) - direct
                                 for name in results}
                        self.row(f"relay, unix: p50 added to a direct call ({direct:.0f} µs)",
                                 f"{added['bare']:.0f} µs", f"{added['ours']:.0f} µs",
                                 ratio(added["ours"], added["bare"]), "≤ 1.30")
            finally:
                for worker in workers:
                    worker.stop()

    def instructions(self):
        if self.options.smoke or shutil.which("valgrind") is None:
            note("left out: takes minutes, and valgrind")
            return
        few, many = 1000, 4000
        for what, tool, arguments, target in (("echo", "echo", ECHO_ARGUMENTS, "≤ 1.25"),
                                              ("relay", "bench-0__echo", ARGUMENTS, "≤ 1.30")):
            per_call = {}
            for make in self.bare, self.ours:
                totals = []
                for calls in few, many:
                    self.serial += 1
                    log = f"callgrind-{self.serial}.log"
                    wrap = ("valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null")
                    with make(wrap=wrap, log=log) as side:
                        worker = None
                        if what == "relay":
                            worker = Process([self.tool("bench_worker"), f"--target={side.worker}"], "attached",
                                             log=f"{self.dir}/worker.log")
                        try:
                            run = subprocess.run(
                                [self.tool("bench_load"), "--do=call", f"--target={side.agent}", f"--tool={tool}",
                                 f"--args={arguments}", "--in-flight=64", f"--calls={calls}"], capture_output=True,
                                text=True, timeout=300, check=False)
                            if run.returncode != 0:
                                raise Failed(f"load on {side.name}: {run.stdout} {run.stderr}")
                        finally:
                            if worker is not None:
                                worker.stop()
                    with open(f"{self.dir}/{log}", encoding="utf-8", errors="replace") as file:
                        totals.append(int(re.search(r"Collected : (\d+)", file.read()).group(1)))
                per_call[side.name] = (totals[1] - totals[0]) / (many - few)
            bare, ours = per_call["bare"], per_call["ours"]
            self.row(f"{what}, unix, 64 in flight: instructions a call", f"{bare / 1000:.1f} k", f"{ours / 1000:.1f} k",
                     ratio(ours, bare), target)

    def grown(self, side, command, count):
        """Memory (KiB) and threads that `command` adds to a fresh daemon while it holds."""
        self.load(side, side.agent, "echo", ECHO_ARGUMENTS, 64, 0.5)
        wait_quiet(side.pid)
        rss, thread_count = rss_kib(side.pid), threads(side.pid)
        with Process(command, ("held", "attached"), log=f"{self.dir}/hold.log"):
            wait_quiet(side.pid)
            return (rss_kib(side.pid) - rss) / count, threads(side.pid) - thread_count

    def per_item(self, what, count, command, targets):
        results = {"bare": [], "ours": []}
        for repetition in range(self.options.memory_reps):
            for make in (self.bare, self.ours) if repetition % 2 == 0 else (self.ours, self.bare):
                with make() as side:
                    results[side.name].append(self.grown(side, command(side), count))
        bare, ours = (statistics.median(r[0] for r in results[name]) for name in ("bare", "ours"))
        self.row(f"{what} ({count:,})", f"{bare:.1f} KiB", f"{ours:.1f} KiB", ratio(ours, bare),
                 targets.format(over=ours - bare))
        return results

    def memory(self):
        count = self.options.held
        self.per_item("idle connection", min(count, 1000), lambda side: [
            self.tool("bench_load"), "--do=connect", f"--target={side.agent}", f"--in-flight={min(count, 1000)}"], "")
        self.per_item("idle worker with 2 tools, connection included", min(count, 500), lambda side: [
            self.tool("bench_worker"), f"--target={side.worker}", f"--workers={min(count, 500)}"], "≤ 60 KiB")
        results = self.per_item("call in flight, asleep in process", count, lambda side: [
            self.tool("bench_load"), "--do=hold", f"--target={side.agent}", "--tool=sleep",
            '--args={"seconds":600}', f"--in-flight={count}", "--channels=20"],
            "≤ 8 KiB above bare: {over:+.1f} KiB")
        self.row("threads added by these calls", *("%d" % statistics.median(r[1] for r in results[name])
                                                   for name in ("bare", "ours")), "", "0")

    def relayed_memory(self):
        count = self.options.held
        results = {}
        for make in self.bare, self.ours:
            with make() as side, Process([self.tool("bench_worker"), f"--target={side.worker}", "--hold-results=1"],
                                         "attached", log=f"{self.dir}/worker.log"):
                results[side.name] = self.grown(side, [
                    self.tool("bench_load"), "--do=hold", f"--target={side.agent}", "--tool=bench-0__echo",
                    f"--args={ARGUMENTS}", f"--in-flight={count}", "--channels=20"], count)
        bare, ours = results["bare"], results["ours"]
        self.row(f"call in flight, held by a worker ({count:,})", f"{bare[0]:.1f} KiB", f"{ours[0]:.1f} KiB",
                 ratio(ours[0], bare[0]), f"≤ 8 KiB above bare: {ours[0] - bare[0]:+.1f} KiB")
        self.row("threads added by these calls", f"{bare[1]}", f"{ours[1]}", "", "0")

    def start(self):
        times = {"bare": [], "ours": []}
        sizes = {"bare": [], "ours": []}
        count = {}
        for repetition in range(2 * self.options.reps):
            for name in ("bare", "ours") if repetition % 2 == 0 else ("ours", "bare"):
                if name == "bare":
                    self.serial += 1
                    target = f"unix:{self.dir}/start-{self.serial}.sock"
                    command = [self.tool("bench_bare"), f"--listen={target}"]
                else:
                    runtime, config = self.daemon_files(False)
                    target = f"unix:{runtime}/agent.sock"
                    command = self.daemon_command(runtime, config, tcp=False)
                with Process([self.tool("bench_load"), "--do=start", f"--target={target}",
                              "--exec=" + " ".join(command)], "serving", log=f"{self.dir}/start.log") as starter:
                    words = starter.line.split()
                    times[name].append(float(words[1]))
                    pid = int(words[5])
                    sizes[name].append(rss_kib(pid) / 1024)
                    count[name] = threads(pid)
        bare, ours = statistics.median(times["bare"]), statistics.median(times["ours"])
        self.row("start, exec to SERVING", f"{bare:.1f} ms", f"{ours:.1f} ms", ratio(ours, bare), "< 50 ms")
        bare, ours = statistics.median(sizes["bare"]), statistics.median(sizes["ours"])
        self.row("idle RSS", f"{bare:.1f} MiB", f"{ours:.1f} MiB", ratio(ours, bare), "< 30 MB")
        self.row("idle threads", str(count["bare"]), str(count["ours"]), "", "")

    def attach(self):
        count = min(self.options.held, 10000)
        with self.ours() as side:
            before = rss_kib(side.pid)
            with Process([self.tool("bench_worker"), f"--target={side.worker}", f"--tools={count}"], "attached",
                         log=f"{self.dir}/worker.log") as worker:
                took = int(worker.line.split()[1])
                wait_quiet(side.pid)
                self.row(f"a worker publishes {count:,} tools: time, RSS a tool", "",
                         f"{took} ms, {(rss_kib(side.pid) - before) / count:.1f} KiB", "", "")

    def micro(self):
        binary = self.tool("bench_micro")
        command = [binary, "--benchmark_format=json", "--benchmark_repetitions=%d" % self.options.reps,
                   "--benchmark_report_aggregates_only=true",
                   "--benchmark_min_time=%g" % (0.2 if self.options.reps > 1 else 0.001)]
        if self.options.smoke:
            command.append("--benchmark_filter=/(1|100|1000|tiny)$")
        run = subprocess.run(command, capture_output=True, text=True, timeout=900, check=False)
        if run.returncode != 0:
            raise Failed(f"bench_micro: {run.stderr[-2000:]}")
        times = {}
        for entry in json.loads(run.stdout)["benchmarks"]:
            if entry.get("error_occurred"):
                raise Failed(f"{entry['name']}: {entry['error_message']}")
            if entry.get("aggregate_name", "median") == "median":
                times[entry["run_name"]] = entry["cpu_time"] * {"ns": 1, "us": 1e3, "ms": 1e6}[entry["time_unit"]]
        for name, took in times.items():
            base = times.get(re.sub("^Validate", "Parse", name)) if name.startswith("Validate") else None
            targets = {"Lookup/100000": "≤ 100 ns", "PublishOne/100000": "≤ 200 µs",
                       "Validate/small": "≤ 1.00", "Validate/medium": "≤ 1.00"}
            self.row(name, nanoseconds(base) if base else "", nanoseconds(took),
                     ratio(took, base) if base else "", targets.get(name, ""))

    WORKS = ("echo", "relay", "instructions", "memory", "relayed_memory", "start", "attach", "micro")

    def run(self):
        failed = False
        for work in self.options.only.split(",") if self.options.only else self.WORKS:
            note(f"{work}:")
            try:
                getattr(self, work)()
            except (Failed, subprocess.TimeoutExpired, OSError) as error:
                note(f"{work} failed: {error}")
                failed = True
        if failed:
            for name in sorted(os.listdir(self.dir)):
                if name.endswith(".log"):
                    with open(f"{self.dir}/{name}", encoding="utf-8", errors="replace") as file:
                        note(f"--- {name}\n{file.read()[-2000:]}")
        return not failed

    def print_table(self):
        table = [("work", "bare", "ours", "ratio", "target")] + self.rows
        widths = [max(len(row[i]) for row in table) for i in range(5)]
        for index, row in enumerate(table):
            print("| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths)) + " |")
            if index == 0:
                print("|" + "|".join("-" * (width + 2) for width in widths) + "|")


def ratio(ours, bare):
    return f"{ours / bare:.2f}" if bare > 0 else ""


def nanoseconds(value):
    for unit, size in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if value >= size:
            return f"{value / size:.2f} {unit}"
    return f"{value:.1f} ns"


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    parser = argparse.ArgumentParser(description="Compares the daemon with bare gRPC. Takes some ten minutes.")
    parser.add_argument("--bin", default=os.path.join(here, "../../build/release/bin"), help="where the programs are")
    parser.add_argument("--only", default="", help="some works, comma-separated: " + ", ".join(Bench.WORKS))
    parser.add_argument("--reps", type=int, default=5, help="repetitions of each side")
    parser.add_argument("--memory-reps", type=int, default=3, help="repetitions of each memory figure")
    parser.add_argument("--seconds", type=float, default=1.0, help="length of each measured window")
    parser.add_argument("--held", type=int, default=10000, help="calls in flight for the memory figures")
    parser.add_argument("--smoke", action="store_true", help="tiny counts: shows that it works, no figures")
    options = parser.parse_args()
    if options.smoke:
        options.reps, options.memory_reps, options.held = 1, 1, 20
    bench = Bench(options)
    try:
        good = bench.run()
        bench.print_table()
    finally:
        shutil.rmtree(bench.dir, ignore_errors=True)
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
