"""I: many at once."""

import json
import os
import pathlib
import sqlite3
import subprocess
import threading
import time

import forger
from harness import Table, demand, patience

TABLE = Table("I")


def own(world):
    world.ok("init")
    world.ok("session", "open", "--agent", "a")
    return world.project / ".handoff" / "ledger.db"


def many(world, commands):
    """Runs commands at once; gives exits and documents."""
    children = [
        world.start(["--json", *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for command in commands
    ]
    told = []
    for child in children:
        out, err = child.communicate(timeout=patience(120))
        demand(b"panicked" not in err, "a panic", err)
        told.append((child.returncode, json.loads(out)))
    return told


def verified(world, events):
    told = world.json("verify")
    demand(told.code == 0, "not verified", told)
    demand(
        told.document["events"] == events,
        "%d events, expected %d" % (told.document["events"], events),
        told,
    )


def writers(world, count, appends):
    own(world)
    seqs, failures = [], []

    def write():
        for _ in range(appends):
            ran = world.json("--wait", "60s", "ambient", "--none", deadline=90)
            if ran.code == 0:
                seqs.append(ran.document["seq"])
            else:
                failures.append(str(ran))

    threads = [threading.Thread(target=write) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    demand(not failures, "appends failed", failures[:2])
    demand(sorted(seqs) == list(range(2, 2 + count * appends)), "not dense", sorted(seqs)[:20])
    verified(world, 2 + count * appends)


TABLE.add("I1.a", "2 writers, 10 appends each", lambda world: writers(world, 2, 10))
TABLE.add("I1.b", "10 writers, 3 appends each", lambda world: writers(world, 10, 3))
TABLE.add("I1.c", "50 writers, 10 appends each", lambda world: writers(world, 50, 10), slow=True)


@TABLE.case("I1.d", "20 sessions opened at once by one key")
def sessions(world):
    world.ok("init")
    told = many(
        world,
        [["--wait", "60s", "session", "open", "--agent", "a%d" % number] for number in range(20)],
    )
    demand(all(code == 0 for code, _ in told), "an opening failed", told)
    demand(len({one["session"] for _, one in told}) == 20, "two have one seq")
    verified(world, 21)


@TABLE.case("I1.e", "two machines, each with a view of its own, write by turns")
def two_views(world):
    own(world)
    other = world.made("other-home")
    key = world.home / ".local/share/handoff/keys/default.pem"
    env = {
        "HOME": str(other),
        "HANDOFF_KEY": str(key),
        "HANDOFF_TRUST": world.ok("key", "show")["key"],
    }
    for turn in range(6):
        ran = world.json("ambient", "--none", env=env if turn % 2 else None)
        demand(ran.code == 0 and ran.document["seq"] == 2 + turn, "not written", ran)
    verified(world, 8)


@TABLE.case("I2", "control: deferred transactions without our discipline do lose the lock")
def deferred(world):
    """What the suite would see if writers read before they lock: the kind is real here too."""
    path = own(world)
    two = [sqlite3.connect(path, isolation_level=None, timeout=0.1) for _ in range(2)]
    for one in two:
        one.execute("BEGIN DEFERRED")
        one.execute("SELECT max(seq) FROM event").fetchone()
    failed = 0
    for one in two:
        try:
            one.execute("INSERT INTO event VALUES(2, zeroblob(100))")
            one.execute("COMMIT")
        except sqlite3.OperationalError:
            failed += 1
    for one in two:
        one.close()
    demand(failed, "both wrote: the control shows nothing")


@TABLE.case("I3.a", "a slow reader holds the file open: the writer is busy in time, then works")
def slow_reader(world):
    path = own(world)
    reader = sqlite3.connect(path, isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT * FROM event").fetchone()
    ran = world.json("--wait", "1s", "ambient", "--none")
    demand(ran.code == 5 and ran.error.get("code") == "busy", "not busy", ran)
    demand(ran.error.get("retryable") is True, "not retryable", ran)
    reader.execute("ROLLBACK")
    reader.close()
    demand(world.json("ambient", "--none").code == 0, "not writable afterwards")
    verified(world, 3)


@TABLE.case("I3.b", "our own slow reader, its output held back, holds up no writer")
def held_output(world):
    path = world.project / ".handoff" / "ledger.db"
    world.ok("init")
    told = world.ok("session", "open", "--agent", "a")
    for _ in range(30):
        world.ok("probe", "--shell", "--", "head -c 3000 /dev/zero | tr '\\0' x")
    for command in (["log", "--json"], ["export", "--captures"], ["log"]):
        child = world.start(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        time.sleep(0.3)
        ran = world.json("--wait", "2s", "ambient", "--none")
        demand(ran.code == 0, "a writer waits for %s" % command[0], ran)
        child.stdout.close()
        child.wait(timeout=patience(10))
    demand(path.exists() and told, "no ledger")


@TABLE.case("I5.a", "two promotions of one flag at once")
def promotions(world):
    own(world)
    (world.project / "four.txt").write_text("4\n")
    world.ok("axis", "version", "--class", "dependency_version", "--", "cat", "four.txt")
    world.ok(
        "flag",
        "mine",
        "it is four",
        "--because",
        "so",
        "--needs",
        "version",
        "--expect",
        "value=4",
        "--",
        "cat",
        "four.txt",
    )
    told = many(
        world, [["--wait", "30s", "promote", "mine", "--needs", "version"] for _ in range(4)]
    )
    demand(any(code == 0 for code, _ in told), "none won", told)
    demand(all(code in (0, 1) for code, _ in told), "another exit", told)
    ran = world.json("verify")
    demand(ran.code == 0 and not ran.document["refused"], "a refused event was written", ran)


@TABLE.case("I5.b", "a seal against appends: what comes after it is refused, in the transaction")
def seal_race(world):
    own(world)
    world.ok("probe", "--", "cat", "/etc/hostname")
    world.ok("ambient", "--none")
    told = many(
        world,
        [["--wait", "30s", "seal"]]
        + [
            ["--wait", "30s", "--session", "1", "probe", "--", "cat", "/etc/hostname"]
            for _ in range(6)
        ]
        + [["--wait", "30s", "--session", "1", "seal"]],
    )
    sealed = [one for code, one in told if code == 0 and "receipt" not in one]
    demand(len(sealed) == 1, "%d seals" % len(sealed), told)
    ran = world.json("verify")
    demand(ran.code == 0 and not ran.document["refused"], "a refused event was written", ran)
    after = world.ok("head")["head"]["seq"]
    acknowledged = [one["seq"] for code, one in told if code == 0]
    demand(max(acknowledged) == after == sealed[0]["seq"], "something after the seal", told)


@TABLE.case("I5.c", "a revocation against what that key signs")
def revoke_race(world):
    own(world)
    recorder = forger.ALICE.save(world.folder / "alice.pem")
    world.ok("key", "authorize", forger.ALICE.public, "--label", "alice")
    opened = world.ok("--key", recorder, "session", "open", "--agent", "b")["session"]
    told = many(
        world,
        [
            ["--wait", "30s", "--key", str(recorder), "--session", str(opened), "ambient", "--none"]
            for _ in range(5)
        ]
        + [["--wait", "30s", "key", "revoke", forger.ALICE.public, "--reason", "lost"]],
    )
    demand(told[-1][0] == 0, "the revocation failed", told[-1])
    revoked = told[-1][1]["seq"]
    for code, one in told[:-1]:
        demand(code == 1 or one["seq"] < revoked, "written after the revocation", one)
    ran = world.json("verify")
    demand(ran.code == 0 and not ran.document["refused"], "a refused event was written", ran)


@TABLE.case("I5.d", "one label for two keys, authorised at once")
def label_race(world):
    world.ok("init")
    told = many(
        world,
        [
            ["--wait", "30s", "key", "authorize", forger.Key(40 + number).public, "--label", "same"]
            for number in range(5)
        ],
    )
    demand(sorted(code for code, _ in told) == [0, 1, 1, 1, 1], "not exactly one", told)
    verified(world, 2)


@TABLE.case("I5.e", "init of one folder, many at once")
def init_race(world):
    told = many(world, [["init"] for _ in range(8)])
    won = [one for code, one in told if code == 0]
    demand(len(won) == 1, "%d ledgers were made" % len(won), told)
    ran = world.json("verify")
    demand(ran.code == 0 and ran.document["ledger"] == won[0]["ledger"], "another ledger", ran)


@TABLE.case("I6", "the file is read by nobody beside SQLite: locks outlast our reading commands")
def locks_kept(world):
    """POSIX locks go when any descriptor of the file is closed; a held lock must still hold."""
    path = own(world)
    held = sqlite3.connect(path, isolation_level=None)
    held.execute("BEGIN IMMEDIATE")
    for command in (["head"], ["verify"], ["state"]):
        world.json(*command)
    ran = world.json("--wait", "300ms", "ambient", "--none")
    demand(ran.code == 5, "a second writer got the lock", ran)
    held.execute("ROLLBACK")
    held.close()
    # And while our own program writes: SQLite alone may open the file while a transaction is open.
    source = pathlib.Path(__file__).resolve().parents[2] / "src"
    demand(source.exists(), "no source to look at")


@TABLE.case("I7", "a probe inherits nothing but its three streams")
def descriptors(world):
    own(world)
    extra = os.open("/etc/hostname", os.O_RDONLY)
    os.set_inheritable(extra, True)
    try:
        child = world.start(
            ["--json", "probe", "--extract", "none", "--shell", "--", "ls -l /proc/self/fd"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            close_fds=True,
        )
        out = json.loads(child.communicate()[0])
    finally:
        os.close(extra)
    shown = world.ok("show", out["receipt"])
    listed = [line.split()[-3] for line in shown["kept"]["stdout"].splitlines() if "->" in line]
    demand(set(listed) <= {"0", "1", "2", "3"}, "more was inherited", shown["kept"])
    demand("ledger.db" not in shown["kept"]["stdout"], "the ledger was inherited", shown["kept"])


@TABLE.case("I9", "verify while writers append: always a good prefix, never shorter")
def while_writing(world):
    path = own(world)
    stop = threading.Event()

    def write():
        while not stop.is_set():
            world.json("--wait", "30s", "ambient", "--none", deadline=60)

    threads = [threading.Thread(target=write) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        seen = 0
        for turn in range(12):
            told = (
                world.json("verify")
                if turn % 2
                else world.json("verify", "--trust", world.ok("key", "show")["key"], "--", path)
            )
            if told.code == 3 and told.document["incomplete"]:
                continue
            demand(told.code in (0, 5), "not a good prefix", told)
            if told.code == 0:
                demand(told.document["events"] >= seen, "shorter than before", told)
                seen = told.document["events"]
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    demand(seen > 0, "it was never verified")
