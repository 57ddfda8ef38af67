"""H: what the system does to the process. Kills at every moment (H1, H2), failing system calls (H3)
and power loss (H4) are of the Rust harnesses; here is what one can do from outside (H6 to H12)."""

import fcntl
import os
import resource
import signal
import sqlite3
import subprocess
import time

import forger
from harness import Table, accepted, demand, good, kill, ledger, patience

TABLE = Table("H")
FULL = ledger()
COUNT = FULL.count


def own(world):
    world.ok("init")
    world.ok("session", "open", "--agent", "a")
    return world.project / ".handoff" / "ledger.db"


def whole(world, at_least=2):
    told = world.json("verify")
    demand(told.code == 0 and told.document["events"] >= at_least, "the ledger is not whole", told)
    return told.document["events"]


def stopped(ran):
    """A clean failure: a code, a reason, no acknowledgement."""
    demand(ran.code in (2, 5, 6), "another exit", ran)
    if ran.out:
        demand(b'"error"' in ran.out and b'"code"' in ran.out, "no reason", ran)
        demand(b'"receipt":' not in ran.out, "an acknowledgement", ran)


# --- H6: file size ---
for at, blocks in enumerate((0, 1, 8, 32, 64)):

    def small_files(world, blocks=blocks):
        own(world)
        ran = world.run(
            "--json",
            "probe",
            "--",
            "cat",
            "/etc/hostname",
            limits=[(resource.RLIMIT_FSIZE, blocks * 1024)],
            documented=False,
        )
        if ran.code not in (0, 1):
            stopped(ran)
        whole(world)
        ran = world.json("ambient", "--none")
        demand(ran.code == 0, "not writable afterwards", ran)

    TABLE.add("H6.%s" % "abcde"[at], "no file over %d KB" % blocks, small_files)


@TABLE.case("H6.f", "verify of a file where no file may be written")
def verify_small(world):
    path = good(world)
    ran = world.run(
        "--json",
        "verify",
        "--trust",
        forger.ROOT.public,
        "--",
        path,
        limits=[(resource.RLIMIT_FSIZE, 0)],
        documented=False,  # Standard output is a file here, and takes nothing.
    )
    demand(ran.code in (0, 5), "another exit", ran)
    demand(not os.listdir(world.temporary), "left in the temporary folder")


# --- H7: memory, descriptors, processes ---
for at, (what, limit) in enumerate(
    (
        ("3 descriptors", (resource.RLIMIT_NOFILE, 3)),
        ("4 descriptors", (resource.RLIMIT_NOFILE, 4)),
        ("6 descriptors", (resource.RLIMIT_NOFILE, 6)),
        ("8 descriptors", (resource.RLIMIT_NOFILE, 8)),
        ("10 descriptors", (resource.RLIMIT_NOFILE, 10)),
        ("64 MB", (resource.RLIMIT_AS, 64 << 20)),
        ("128 MB", (resource.RLIMIT_AS, 128 << 20)),
        ("no process", (resource.RLIMIT_NPROC, 1)),
        ("a stack of 1 MB", (resource.RLIMIT_STACK, 1 << 20)),
        ("2 s of CPU", (resource.RLIMIT_CPU, 2)),
    )
):

    def limited(world, limit=limit):
        """What cannot be done is said; what is said to be done is there."""
        own(world)
        before = whole(world)
        acknowledged = 0
        for command in (
            ["ambient", "--none"],
            ["probe", "--", "cat", "/etc/hostname"],
            ["verify"],
            ["state"],
        ):
            # Below what the loader itself needs, the program never begins: exit 127 or a signal.
            ran = world.run(
                "--json",
                *command,
                limits=[limit],
                documented=False,
                signals=(signal.SIGKILL, signal.SIGSEGV, signal.SIGABRT)
                if limit == (resource.RLIMIT_AS, 64 << 20)
                else (),
            )
            demand(b"panicked" not in ran.err, "a panic", ran)
            if ran.code == 0 and command[0] in ("ambient", "probe"):
                acknowledged += 1
        after = whole(world)
        demand(after >= before + acknowledged, "an acknowledged event is not there", after)

    TABLE.add("H7.%s" % "abcdefghij"[at], "with " + what, limited)


# --- H8: signals ---
def pids_with(marker):
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open("/proc/%s/cmdline" % name, "rb") as file:
                    if marker in file.read():
                        found.append(int(name))
            except OSError:
                continue
    return found


def gone(marker, seconds=5):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if not pids_with(marker):
            return True
        time.sleep(0.05)
    return False


SLEEPS = iter(range(40_000, 90_000))
ENDING = (
    signal.SIGINT,
    signal.SIGTERM,
    signal.SIGHUP,
    signal.SIGQUIT,
    signal.SIGUSR1,
    signal.SIGUSR2,
    signal.SIGALRM,
    signal.SIGVTALRM,
    signal.SIGPROF,
    signal.SIGXCPU,
)
for at, number in enumerate(ENDING):

    def interrupted(world, number=number):
        """The probe's group ends with it; the receipt says interrupted, or there is none."""
        own(world)
        marker = str(next(SLEEPS) + os.getpid() % 100 / 1000)
        child = world.start(
            [
                "--json",
                "probe",
                "--timeout",
                "60s",
                "--shell",
                "--",
                "sleep %s & sleep %s" % (marker, marker),
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        until = time.monotonic() + 10
        while len(pids_with(marker.encode())) < 2 and time.monotonic() < until:
            time.sleep(0.02)
        child.send_signal(number)
        try:
            out, err = child.communicate(timeout=patience(10))
        except subprocess.TimeoutExpired:
            kill(child)
            demand(False, "it does not end")
        demand(child.returncode != 0, "success", out)
        demand(b"panicked" not in err, "a panic", err)
        demand(gone(marker.encode()), "the probe lives on", pids_with(marker.encode()))
        events = whole(world)
        if events > 2:
            told = world.ok("show", events - 1)
            demand(told["body"]["outcome"]["end"] == "interrupted", "another outcome", told["body"])

    TABLE.add("H8.a%d" % at, "%s during a probe" % number.name, interrupted)

    def while_writing(world, number=number):
        """Many writers, each stopped at another moment: an event is whole, or is not there."""
        own(world)
        acknowledged = 0
        for turn in range(40 if world.long else 12):
            child = world.start(
                ["--json", "ambient", "--none"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
            )
            time.sleep(0.0015 * turn)
            child.send_signal(number)
            out = child.communicate(timeout=patience(20))[0]
            acknowledged += child.returncode == 0 and b'"exit":0' in out
        demand(whole(world) >= 2 + acknowledged, "an acknowledged event is not there")

    TABLE.add("H8.b%d" % at, "%s during appends" % number.name, while_writing)


@TABLE.case("H8.c", "SIGPIPE: the reader of the output goes away")
def broken_pipe(world):
    good(world)
    for command in (["log"], ["export"], ["state"], ["log", "--json"]):
        child = world.start(
            ["--ledger", str(world.file), "--trust", forger.ROOT.public, *command],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        child.stdout.read(1)
        child.stdout.close()
        err = child.stderr.read()
        child.wait(timeout=patience(10))
        demand(b"panicked" not in err and child.returncode != 101, "a panic", err)


# --- H10: streams that are closed at the start ---
for at, closed in enumerate(((0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2))):

    def without_streams(world, closed=closed):
        """A file opened by the program must not become its own standard error."""
        path = own(world)
        before = whole(world)

        def close():
            for one in closed:
                os.close(one)

        for command in (
            ["ambient", "--none"],
            ["nonsense"],
            ["show", "99999"],
            ["probe", "--", "cat", "/etc/hostname"],
            ["verify"],
        ):
            child = subprocess.Popen(
                [world.handoff, *command],
                cwd=world.project,
                env=world.environment(),
                stdin=None if 0 in closed else subprocess.DEVNULL,
                stdout=None if 1 in closed else subprocess.DEVNULL,
                stderr=None if 2 in closed else subprocess.DEVNULL,
                preexec_fn=close,
                close_fds=True,
            )
            child.wait(timeout=patience(20))
            demand(
                child.returncode >= 0 and child.returncode != 101,
                "it died",
                child.returncode,
                command,
            )
        demand(path.read_bytes()[:16] == b"SQLite format 3\0", "a message was written into it")
        demand(whole(world) > before, "nothing was written")
        data = path.read_bytes()
        for word in (b"error:", b"next: handoff", b"verified "):
            demand(word not in data, "a message landed in the ledger", word)

    TABLE.add("H10.%s" % "abcdefg"[at], "closed at the start: %s" % (closed,), without_streams)


# --- H11: clocks ---
@TABLE.case("H11.a", "the clock goes back an hour between two appends: written, and warned of")
def clock_back(world):
    """Our clock cannot be moved; the ledger's last event can be dated ahead of it."""
    made = forger.Ledger(start_ms=int(time.time() * 1000) + 3_600_000)
    made.save(world.file)
    ran = world.json(
        "--key",
        world.root_key,
        "--trust",
        forger.ROOT.public,
        "--ledger",
        world.file,
        "session",
        "open",
        "--agent",
        "x",
    )
    demand(ran.code == 0, "not written", ran)
    told = accepted(world, world.file, 2)
    demand(told.document["clock_went_back"] == [1], "no warning", told)
    ran = world.run("--trust", forger.ROOT.public, "--ledger", world.file, "log")
    demand(ran.text.index("ledger.opened") < ran.text.index("session.opened"), "another order", ran)


for at, start in enumerate((0, -2_208_988_800_000, 253_402_300_799_000)):

    def strange_clock(world, start=start):
        made = forger.Ledger(start_ms=start - forger.STEP_MS)
        made.save(world.file)
        ran = world.json(
            "--key",
            world.root_key,
            "--trust",
            forger.ROOT.public,
            "--ledger",
            world.file,
            "session",
            "open",
            "--agent",
            "x",
        )
        demand(ran.code == 0, "not written", ran)
        accepted(world, world.file, 2)

    TABLE.add("H11.b%d" % at, "a ledger begun at %d ms" % start, strange_clock)


@TABLE.case("H11.c", "the clock at 1970, where libfaketime is there to say so")
def clock_1970(world):
    candidates = [
        "/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1",
        "/usr/lib/aarch64-linux-gnu/faketime/libfaketime.so.1",
    ]
    library = [one for one in candidates if os.path.exists(one)]
    if not library:
        return
    own(world)
    env = {"LD_PRELOAD": library[0], "FAKETIME": "1970-01-01 00:00:10"}
    ran = world.json("ambient", "--none", env=env)
    demand(ran.code == 0, "not written", ran)
    told = world.json("verify")
    demand(told.code == 0 and told.document["clock_went_back"], "no warning", told)


# --- H12: a writer that stands still ---
@TABLE.case("H12.a", "the lock held by a stopped writer: busy within the wait, later it works")
def suspended(world):
    path = own(world)
    code = (
        "import sqlite3,sys,time\nc=sqlite3.connect(sys.argv[1],isolation_level=None)\n"
        "c.execute('BEGIN IMMEDIATE')\nprint('held',flush=True)\ntime.sleep(600)\n"
    )
    holder = subprocess.Popen(["python3", "-c", code, path], stdout=subprocess.PIPE)
    holder.stdout.readline()
    holder.send_signal(signal.SIGSTOP)
    try:
        ran = world.json("--wait", "1s", "ambient", "--none")
        demand(ran.code == 5 and ran.error.get("code") == "busy", "not busy", ran)
        demand(ran.error.get("retryable") is True and ran.error.get("next"), "no advice", ran)
        demand(0.8 < ran.seconds < patience(5), "waited %.1f s" % ran.seconds)
        for command in (["verify"], ["head"], ["state"]):
            ran = world.json(*command)
            demand(ran.code in (0, 1), "a reader is held up by a writer", ran)
    finally:
        holder.kill()
        holder.wait()
    demand(world.json("ambient", "--none").code == 0, "not writable afterwards")
    whole(world, 3)


@TABLE.case("H12.b", "an exclusive lock held for ever: every command says busy in time")
def exclusive(world):
    path = own(world)
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    try:
        for command in (
            ["verify"],
            ["head"],
            ["state"],
            ["ambient", "--none"],
            ["export"],
            ["log"],
        ):
            form = [] if command[0] in ("export", "log") else ["--json"]
            ran = world.run(*form, "--wait", "500ms", *command)
            demand(ran.code == 5, "%s answered" % command[0], ran)
            demand(b'"busy"' in ran.out or b"lock" in ran.err, "not busy", ran)
    finally:
        holder.execute("ROLLBACK")
        holder.close()
    demand(world.json("ambient", "--none").code == 0, "not writable afterwards")


@TABLE.case("H12.c", "our own writer stopped in the middle, then killed")
def stopped_writer(world):
    own(world)
    acknowledged = 0
    for turn in range(20 if world.long else 8):
        child = world.start(
            ["--json", "ambient", "--none"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        time.sleep(0.001 * turn)
        kill(child, signal.SIGSTOP)
        ran = world.json("--wait", "300ms", "ambient", "--none")
        demand(ran.code in (0, 5), "another exit", ran)
        acknowledged += ran.code == 0
        kill(child)
        out = child.communicate()[0]
        acknowledged += b'"exit":0' in out
    demand(whole(world) >= 2 + acknowledged, "an acknowledged event is not there")
    demand(world.json("ambient", "--none").code == 0, "not writable afterwards")


@TABLE.case("H12.d", "advisory locks of others on the view and its lock file")
def view_locked(world):
    own(world)
    views = world.home / ".local/state/handoff/views"
    held = []
    for one in views.iterdir():
        file = open(one, "rb+")
        fcntl.flock(file, fcntl.LOCK_EX)
        held.append(file)
    ran = world.json("--wait", "500ms", "ambient", "--none")
    demand(ran.code in (0, 5), "another exit", ran)
    for file in held:
        file.close()
    whole(world)
