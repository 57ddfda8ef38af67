"""G: side files, paths and media."""

import os
import pathlib
import shutil
import socket
import sqlite3
import stat
import struct
import subprocess
import time

import forger
from harness import (
    Table,
    accepted,
    classes,
    demand,
    difference,
    good,
    hold,
    ledger,
    patience,
    readers,
    refuses_to_write,
    snapshot,
    tampered,
)

TABLE = Table("G")
FULL = ledger()
COUNT = FULL.count


def own(world):
    """The project's own ledger, made by the program, with a session open."""
    world.ok("init")
    world.ok("session", "open", "--agent", "a")
    return world.project / ".handoff" / "ledger.db"


# --- G2, G3: side files ---
def wal_of_other():
    return struct.pack(">IIIIIIII", 0x377F0682, 3007000, 16384, 0, 1, 2, 3, 4) + os.urandom(2000)


def journal_of(path):
    """A hot journal that would put page 2 of the ledger back to zeroes."""
    pages = path.stat().st_size // 16384
    head = b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7" + struct.pack(">IIIII", 1, 7, pages, 512, 16384)
    page = bytes(16384)
    total = 7
    for at in range(16384 - 200, 0, -200):
        total = (total + page[at]) & 0xFFFFFFFF
    return head + bytes(512 - len(head)) + struct.pack(">I", 2) + page + struct.pack(">I", total)


SIDE = {
    "a foreign -wal": ("-wal", lambda path: wal_of_other()),
    "an empty -wal": ("-wal", lambda path: b""),
    "a -wal of rubbish": ("-wal", lambda path: os.urandom(40000)),
    "a -shm": ("-shm", lambda path: os.urandom(32768)),
    "a forged hot -journal": ("-journal", journal_of),
    "an empty -journal": ("-journal", lambda path: b""),
    "a -journal of zeroes": ("-journal", lambda path: bytes(600)),
    "a -journal of rubbish": ("-journal", lambda path: os.urandom(20000)),
    "a -journal that names a super-journal": (
        "-journal",
        lambda path: (
            journal_of(path)
            + b"/etc/passwd"
            + struct.pack(">II", 11, 1)
            + b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7"
        ),
    ),
}
for at, (what, (suffix, content)) in enumerate(SIDE.items()):

    def beside(world, suffix=suffix, content=content):
        path = good(world)
        side = pathlib.Path(str(path) + suffix)
        side.write_bytes(content(path))
        told = world.verify(path)
        demand(
            told.document["result"] in ("incomplete", "tampered"),
            "the side file is passed over",
            told,
        )
        demand(suffix in told.shown.text, "the side file is not named", told.shown)
        readers(world, path, forger.ROOT, count=10)

    def beside_own(world, suffix=suffix, content=content):
        """A writer follows no foreign side file either: what was there stays, or it says why."""
        path = own(world)
        head = world.ok("head")["head"]["line"]
        before = path.read_bytes()
        side = pathlib.Path(str(path) + suffix)
        side.write_bytes(content(path))
        ran = world.json("retract", "nobody", "--reason", "r")
        ran = world.json("ambient", "--none")
        if ran.code == 0:
            demand(suffix == "-journal", "a writer passed it over", ran)
            told = world.json("verify")
            demand(told.code == 0, "written, and not verified", told)
            seqs = told.document["events"]
            demand(seqs == 3, "an event was lost", told)
        else:
            demand(
                ran.code in (4, 5) and ran.error.get("code") and ran.error.get("next"),
                "another failure",
                ran,
            )
            # Not by a journal either: what it would take away is seen on a copy.
            demand(path.read_bytes() == before, "the ledger was changed", head)
        told = world.json("verify")
        demand(told.code != 0 or ran.code == 0, "verify passes what the writer refused", told)

    TABLE.add("G2.a%d" % at, what + " beside the file: every reader", beside)
    TABLE.add("G2.b%d" % at, what + " beside our own ledger: a writer", beside_own)


@TABLE.case("G2.c", "a side file that is a symbolic link, a folder, a pipe")
def odd_sides(world):
    path = good(world)
    target = world.folder / "target"
    target.write_bytes(b"mine")
    for suffix in ("-wal", "-journal"):
        side = pathlib.Path(str(path) + suffix)
        for make in (lambda: side.symlink_to(target), side.mkdir, lambda: os.mkfifo(side)):
            make()
            told = world.verify(path)
            demand(
                told.document["result"] in ("incomplete", "tampered", "error"), "passed over", told
            )
            refuses_to_write(world, path)
            if side.is_dir() and not side.is_symlink():
                side.rmdir()
            else:
                side.unlink()
    demand(target.read_bytes() == b"mine", "the link's target was written to")


@TABLE.case("G3.b", "a hot journal of a real crash rolls back, and nothing acknowledged is lost")
def crashed(world):
    """A writer of the same format is killed in a transaction; its journal is the real thing."""
    path = own(world)
    code = (
        "import sqlite3,sys,os,signal\n"
        "c=sqlite3.connect(sys.argv[1],isolation_level=None)\n"
        "c.execute('PRAGMA cache_size=1'); c.execute('PRAGMA cache_spill=1')\n"
        "c.execute('BEGIN IMMEDIATE')\n"
        "n=c.execute('SELECT max(seq)+1 FROM event').fetchone()[0]\n"
        "for i in range(60): c.execute('INSERT INTO event VALUES(?,zeroblob(60000))',(n+i,))\n"
        "os.kill(os.getpid(),signal.SIGKILL)\n"
    )
    subprocess.run(["python3", "-c", code, path], check=False)
    demand(pathlib.Path(str(path) + "-journal").exists(), "no journal was left")
    told = world.json("verify")
    demand(told.code in (0, 3, 4), "another exit", told)
    ran = world.json("ambient", "--none")
    demand(ran.code in (0, 4, 5), "another exit", ran)
    if ran.code == 0:
        told = world.json("verify")
        demand(told.code == 0 and told.document["events"] == 3, "another ledger", told)
    else:
        demand(ran.error.get("next"), "no command to type next", ran)


# --- G4: copies ---
@TABLE.case("G4.a", "a plain copy made while others write is whole, or says that it is not")
def copied(world):
    path = own(world)
    children = [
        world.start(["ambient", "--none"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(8)
    ]
    seen = 0
    for number in range(6):
        copy = world.evidence / ("copy-%d.db" % number)
        shutil.copyfile(path, copy)
        ran = world.json("verify", "--trust", root(world), "--", copy)
        demand(ran.code in (0, 4), "another exit", ran)
        if ran.code == 0:
            demand(ran.document["events"] >= seen, "fewer than before", ran)
            seen = ran.document["events"]
    for child in children:
        child.wait()
    told = world.json("verify")
    demand(told.code == 0 and told.document["events"] == 10, "an event was lost", told)


def root(world):
    return world.ok("key", "show").get("key")


@TABLE.case("G4.b", "the resting file is whole in itself: no side file stays")
def resting(world):
    path = own(world)
    for _ in range(3):
        world.ok("ambient", "--none")
        demand(
            os.listdir(path.parent) == ["ledger.db"], "a side file stays", os.listdir(path.parent)
        )


# --- G6: what the path leads to ---
def odd_path(name, make):
    """Something that is no ledger under the path: at once, and never written to."""

    def judge(world):
        path = world.evidence / "odd"
        made = make(path)
        before = snapshot(world.evidence)
        target = made or path
        told = world.json("verify", "--trust", forger.ROOT.public, "--", target)
        demand(told.code == 5 and told.document["result"] == "error", "another answer", told)
        demand(told.seconds < patience(5), "%.1f s" % told.seconds)
        demand(
            told.error.get("code") in classes("NOT_A_LEDGER", "IO", "STORAGE") | {"empty"},
            "another code",
            told,
        )
        for command in (
            ["state"],
            ["head"],
            ["log"],
            ["export"],
            ["session", "open", "--agent", "x"],
            ["init"],
        ):
            ran = world.run(
                "--json",
                "--key",
                world.root_key,
                "--trust",
                forger.ROOT.public,
                "--ledger",
                target,
                *command,
            )
            demand(ran.code not in (0, 1), "%s went on" % command[0], ran)
        ran = world.run("import", target, "--to", world.evidence / "new.db")
        demand(ran.code not in (0, 1) and not (world.evidence / "new.db").exists(), "imported", ran)
        demand(
            snapshot(world.evidence) == before,
            "the folder was changed",
            difference(before, world.evidence),
        )

    TABLE.add("G6." + name, "the path is " + name, judge)


def socket_at(path):
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(str(path))
    listening.close()


odd_path("fifo", lambda path: os.mkfifo(path))
odd_path("folder", lambda path: path.mkdir())
odd_path("socket", socket_at)
odd_path("empty", lambda path: path.write_bytes(b"") and None)
odd_path("text", lambda path: path.write_text("hello\n") and None)
odd_path("rubbish", lambda path: path.write_bytes(os.urandom(70000)) and None)
odd_path("zeroes", lambda path: path.write_bytes(bytes(70000)) and None)
odd_path("brace", lambda path: path.write_bytes(b"{" * 70000) and None)
odd_path("elf", lambda path: path.write_bytes(pathlib.Path("/bin/true").read_bytes()) and None)
odd_path("other-sqlite", lambda path: other_database(path))
odd_path("dev-zero", lambda path: "/dev/zero")
odd_path("dev-null", lambda path: "/dev/null")
odd_path("dev-full", lambda path: "/dev/full")
odd_path("proc-mem", lambda path: "/proc/self/mem")
odd_path(
    "link-to-fifo", lambda path: (os.mkfifo(str(path) + ".f"), path.symlink_to(str(path) + ".f"))[1]
)
odd_path("link-to-zero", lambda path: path.symlink_to("/dev/zero"))
odd_path("link-loop", lambda path: path.symlink_to(path))
odd_path("dangling-link", lambda path: path.symlink_to(str(path) + ".nothing"))


def other_database(path):
    made = sqlite3.connect(path)
    made.execute("CREATE TABLE t(a)")
    made.close()


@TABLE.case("G6.missing", "the path is nothing: absent, and nothing is made")
def missing(world):
    path = world.evidence / "nothing.db"
    for command in (
        ["verify", "--", path],
        ["--ledger", path, "state"],
        ["--ledger", path, "session", "open", "--agent", "x"],
        ["import", path],
    ):
        ran = world.json(*command)
        demand(ran.code not in (0, 1), "it went on", ran)
    demand(not os.listdir(world.evidence), "something was made", os.listdir(world.evidence))


@TABLE.case("G6.symlink", "a symbolic link to a ledger")
def linked(world):
    path = good(world)
    link = world.evidence / "link.db"
    link.symlink_to(path)
    told = world.verify(link)
    demand(told.document["result"] in ("verified", "error"), "another answer", told)
    before = snapshot(world.evidence)
    ran = world.json(
        "--key",
        world.root_key,
        "--trust",
        forger.ROOT.public,
        "--ledger",
        link,
        "session",
        "open",
        "--agent",
        "x",
    )
    if ran.code == 0:
        demand(not pathlib.Path(str(link) + "-journal").exists(), "a journal by the link's name")
        demand(link.is_symlink(), "the link was replaced")
        accepted(world, path, COUNT + 1)
    else:
        demand(snapshot(world.evidence) == before, "the folder was changed")


@TABLE.case("G6.hardlink", "a ledger of two names is not written to: their journals would differ")
def hard_linked(world):
    path = good(world)
    os.link(path, world.evidence / "second.db")
    told = world.verify(path)
    demand(told.document["result"] == "verified", "reading is no harm", told)
    refuses_to_write(world, path)


# --- G7: read-only ---
def write_protected(world, path):
    """A user without rights, as root has all of them."""
    return os.getuid() == 0


for at, (what, folder_mode, file_mode) in enumerate(
    (("file", 0o755, 0o444), ("folder", 0o555, 0o644), ("both", 0o555, 0o444))
):

    def read_only(world, folder_mode=folder_mode, file_mode=file_mode):
        path = good(world)
        os.chmod(path, file_mode)
        os.chmod(world.evidence, folder_mode)
        accepted(world, path, COUNT, head=FULL.head_line())
        readers(world, path, forger.ROOT, rejected=False, count=10)
        if not write_protected(world, path):
            refuses_to_write(world, path)

    TABLE.add(
        "G7.%s" % "abc"[at], "read-only %s: verify works, and leaves nothing" % what, read_only
    )


@TABLE.case("G7.d", "a read-only mount: verify works, a write says why not")
def read_only_mount(world):
    """Where the kernel lets us make one; elsewhere the modes above stand for it."""
    path = good(world)
    script = (
        "mount --bind %s %s && mount -o remount,ro,bind %s && exec %s --json verify "
        "--trust %s -- %s"
        % (world.evidence, world.evidence, world.evidence, world.handoff, forger.ROOT.public, path)
    )
    ran = subprocess.run(
        ["unshare", "-m", "sh", "-c", script],
        capture_output=True,
        check=False,
        env=world.environment(),
    )
    if ran.returncode not in (0, 3, 4, 5) or not ran.stdout:
        return
    demand(ran.returncode == 0, "a read-only mount is not verified", ran.stdout[:300])
    script = script.replace(
        "--json verify",
        "--json --key %s --ledger %s session open --agent x" % (world.root_key, path),
    ).split(" -- ")[0]
    ran = subprocess.run(
        ["unshare", "-m", "sh", "-c", script],
        capture_output=True,
        check=False,
        env=world.environment(),
    )
    demand(
        ran.returncode in (4, 5) and b'"code"' in ran.stdout, "no reason is given", ran.stdout[:300]
    )


@TABLE.case("G7.e", "no HOME that can be written: verify of a file works")
def no_home(world):
    path = good(world)
    os.chmod(world.home, 0o555)
    accepted(world, path, COUNT)


# --- G8: paths that are more than paths ---
NAMES = (
    "file:x.db?mode=memory",
    "file:x?immutable=1&vfs=unix-none",
    ":memory:",
    "-x.db",
    "--",
    "x.db?mode=ro",
    "x#y.db",
    "x%00.db",
    "x\ny.db",
    "x\ty.db",
    "x y.db",
    "~.db",
    "$HOME.db",
    "*.db",
    "'x'.db",
    "x;rm.db",
    "file::memory:",
    "é.db",
    "x\u202ey.db",
    "a" * 200 + ".db",
    "x\u0001.db",
    "x.db-journal",
    "x.db-wal",
    "con",
    "C:\\x.db",
    "x.jsonl",
    "@x.db",
)
for at, name in enumerate(NAMES):

    def named(world, name=name):
        """The name is a file's, and nothing else: that file is verified, or it is usage."""
        path = world.evidence / name
        good(world)
        os.rename(world.file, path)
        before = snapshot(world.evidence)
        for given in (name, path):
            ran = world.json(
                "verify", "--trust", forger.ROOT.public, "--", given, cwd=world.evidence
            )
            demand(ran.code == 0, "the file is not verified", ran)
            demand(ran.document["events"] == COUNT, "another file", ran)
            text = world.run(
                "verify", "--trust", forger.ROOT.public, "--", given, cwd=world.evidence
            )
            demand(text.code == 0 and b"\x01" not in text.out, "raw control characters", text)
        demand(
            snapshot(world.evidence) == before,
            "the folder was changed",
            difference(before, world.evidence),
        )
        ran = world.json(
            "--ledger=" + name,
            "--key",
            world.root_key,
            "--trust",
            forger.ROOT.public,
            "session",
            "open",
            "--agent",
            "x",
            cwd=world.evidence,
        )
        demand(ran.code in (0, 2, 4, 5), "another exit", ran)
        demand(
            sorted(os.listdir(world.evidence)) == [name],
            "another file was made",
            os.listdir(world.evidence),
        )

    TABLE.add("G8.a%02d" % at, "a ledger called %r" % name[:30], named)

    def absent(world, name=name):
        """Without such a file nothing is opened, nor made, whatever SQLite would make of it."""
        for command in (
            ["verify", "--", name],
            ["--ledger=" + name, "state"],
            ["--ledger=" + name, "session", "open", "--agent", "x"],
        ):
            ran = world.json("--key", world.root_key, *command, cwd=world.evidence)
            demand(ran.code in (2, 3, 4, 5), "something was opened", ran)
        demand(not os.listdir(world.evidence), "something was made", os.listdir(world.evidence))

    TABLE.add("G8.b%02d" % at, "no ledger called %r" % name[:30], absent)
for at, name in enumerate((b"\xff\xfe.db", b"a\xc3.db", b"\xed\xa0\x80.db")):

    def not_utf8(world, name=name):
        path = os.path.join(os.fsencode(world.evidence), name)
        good(world)
        os.rename(world.file, path)
        ran = world.json("verify", "--trust", forger.ROOT.public, "--", path)
        demand(ran.code in (0, 2, 5), "another exit", ran)
        ran.out.decode("ascii")
        text = world.run("verify", "--trust", forger.ROOT.public, "--", path)
        demand(text.code == ran.code, "text and JSON exit differently", text)
        text.out.decode("utf-8")

    TABLE.add("G8.c%d" % at, "a ledger called %r" % name, not_utf8)
for at, given in enumerate(
    (
        "",
        "/",
        ".",
        "..",
        "./",
        "//",
        "/dev/fd/0",
        "a" * 5000,
        "x/y/z.db",
        "/etc/passwd",
        "/proc/self/exe",
    )
):

    def nowhere(world, given=given):
        for command in (
            ["verify", "--", given],
            ["--ledger=" + given, "state"],
            ["--ledger=" + given, "--key", world.root_key, "session", "open", "--agent", "x"],
        ):
            ran = world.json(*command, cwd=world.evidence)
            demand(ran.code in (2, 3, 5), "another exit", ran)
        demand(not os.listdir(world.evidence), "something was made", os.listdir(world.evidence))

    TABLE.add("G8.d%02d" % at, "the path %r" % given[:20], nowhere)


# --- G10: gone while writing ---
@TABLE.case("G10.a", "the folder removed between commands")
def removed(world):
    path = own(world)
    shutil.rmtree(path.parent)
    ran = world.json("--ledger", path, "ambient", "--none")
    demand(ran.code == 5 and ran.error.get("code"), "written to nothing", ran)
    demand(not path.exists(), "it was made anew")


@TABLE.case("G10.b", "the file unlinked, and another put in its place, while many write")
def unlinked(world):
    path = own(world)
    head = world.ok("head")["head"]["seq"]
    keep = path.read_bytes()
    children = [
        world.start(
            ["--json", "ambient", "--none"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        for _ in range(12)
    ]
    time.sleep(0.01)
    path.unlink()
    codes = []
    for child in children:
        out = child.communicate()[0]
        codes.append(child.returncode)
        demand(child.returncode in (0, 3, 4, 5, 6), "another exit", child.returncode, out)
    if not path.exists():
        path.write_bytes(keep)
    ran = world.json("verify")
    demand(ran.code in (0, 4), "another exit", ran)
    demand(head == 1 and codes, "no writers ran")


# --- G11, G12: where exports go ---
@TABLE.case("G11.a", "export over an existing file")
def over_existing(world):
    good(world)
    target = world.evidence / "there.jsonl"
    target.write_bytes(b"mine")
    ran = world.json("--ledger", world.file, "--trust", forger.ROOT.public, "export", "-o", target)
    demand(ran.code != 0 and target.read_bytes() == b"mine", "it was overwritten", ran)


@TABLE.case("G11.b", "export through a symbolic link")
def through_link(world):
    good(world)
    target, link = world.evidence / "target", world.evidence / "link.jsonl"
    for make in (lambda: None, lambda: target.write_bytes(b"mine")):
        make()
        if not link.is_symlink():
            link.symlink_to(target)
        existed = target.exists()
        ran = world.json(
            "--ledger", world.file, "--trust", forger.ROOT.public, "export", "-o", link
        )
        demand(ran.code != 0, "the link was followed", ran)
        demand(target.exists() == existed, "the target was made")
        demand(not existed or target.read_bytes() == b"mine", "the target was written")


@TABLE.case("G11.c", "export into the ledger itself, its folder, a pipe, nowhere")
def into_itself(world):
    path = good(world)
    os.mkfifo(world.evidence / "pipe")
    before = path.read_bytes()
    for target in (
        path,
        world.evidence,
        world.evidence / "pipe",
        world.evidence / "no/such",
        "/dev/full",
        "/",
        "",
        "/proc/self/mem",
    ):
        ran = world.json("--ledger", path, "--trust", forger.ROOT.public, "export", "-o", target)
        demand(ran.code not in (0, 1), "it was written", ran)
    demand(path.read_bytes() == before, "the ledger was changed")


@TABLE.case("G11.d", "export to a path with .. and to an absolute one: the file it says")
def dotted(world):
    good(world)
    for target in ("../out.jsonl", world.folder / "out2.jsonl", "./-x"):
        ran = world.json(
            "--ledger",
            world.file,
            "--trust",
            forger.ROOT.public,
            "export",
            "-o",
            target,
            cwd=world.evidence,
        )
        demand(ran.code == 0, "no export", ran)
        demand((world.evidence / target).read_bytes() == FULL.export(), "another export")


@TABLE.case("G11.e", "export to standard output that is full, or closed")
def full_output(world):
    good(world)
    with open("/dev/full", "wb") as full:
        child = world.start(
            ["--ledger", str(world.file), "--trust", forger.ROOT.public, "export"],
            stdout=full,
            stderr=subprocess.PIPE,
        )
        err = child.communicate(timeout=patience(10))[1]
    demand(child.returncode not in (0, 101) and child.returncode > 0, "no failure", err)
    demand(b"panicked" not in err, "a panic", err)


@TABLE.case("G11.f", "import over an existing file, a link, a folder")
def import_over(world):
    source = world.evidence / "in.jsonl"
    source.write_bytes(FULL.export())
    there = world.evidence / "there.db"
    there.write_bytes(b"mine")
    link = world.evidence / "link.db"
    link.symlink_to(world.evidence / "target.db")
    before = snapshot(world.evidence)
    for target in (there, link, world.evidence, source, world.evidence / "no/such.db"):
        ran = world.json("--trust", forger.ROOT.public, "import", source, "--to", target)
        demand(ran.code not in (0, 1), "it was imported over %s" % target, ran)
    demand(
        snapshot(world.evidence) == before,
        "the folder was changed",
        difference(before, world.evidence),
    )


@TABLE.case("G12.a", "an export whose texts are paths: names stay names")
def paths_inside(world):
    made = ledger()
    for text in ("../../x", "/tmp/attack-x", "..\\..\\x", "~/x", "file:///tmp/x"):
        made.add(
            "session.opened",
            {"agent": "x", "inherits": [], "purpose": text, "scope": forger.SCOPE},
            forger.BOB,
        )
    shown = forger.probe(["cat", "../../../../etc/passwd"], cwd="sub")
    made.receipt(
        made.marks["open"], shown, "4", files=[{"digest": "0" * 64, "path": "../../../etc/shadow"}]
    )
    source = world.evidence / "in.jsonl"
    source.write_bytes(made.export())
    inside = world.made("inside/deep")
    before = set(os.listdir(world.folder)), set(os.listdir(world.evidence))
    ran = world.json(
        "--trust", forger.ROOT.public, "import", source, "--to", inside / "l.db", cwd=inside
    )
    demand(ran.code == 0, "a lawful export was refused", ran)
    demand(os.listdir(inside) == ["l.db"], "another file was made", os.listdir(inside))
    demand(
        (set(os.listdir(world.folder)), set(os.listdir(world.evidence))) == before,
        "another file was made",
    )


for at, name in enumerate(("../../x", "/x", "a/../b", "..", ".", "a\\b")):

    def named_ledger(world, name=name):
        """Names of ledgers cannot climb: they never become paths, whatever is in them."""
        made = forger.Ledger(name=name)
        made.save(world.file)
        told = world.verify(world.file)
        if "." == name[0] or name[0] == "/" or "\\" in name:
            hold(told, tampered("ENCODING", at=0))
        made_before = set(os.listdir(world.folder))
        world.json("--ledger", world.file, "--trust", forger.ROOT.public, "state")
        demand(set(os.listdir(world.folder)) == made_before, "a file was made")

    TABLE.add("G12.b%d" % at, "a ledger that calls itself %r" % name, named_ledger)


@TABLE.case("G13", "the same file by another process's eyes: others' permissions of what is made")
def modes(world):
    path = own(world)
    mode = stat.S_IMODE(path.stat().st_mode)
    demand(mode & 0o022 == 0, "the ledger can be written by others", oct(mode))
    views = world.home / ".local/state/handoff/views"
    for one in [views, *views.iterdir()]:
        demand(
            stat.S_IMODE(one.stat().st_mode) & 0o022 == 0, "the view can be written by others", one
        )


# --- G14: what is in this user's own folders, replaced by what makes its opener wait ---
def own_files(world):
    """All that the program keeps for its user, and the names that SQLite looks for beside it."""
    files = [one for one in world.home.rglob("*") if one.is_file()]
    sides = [
        pathlib.Path(str(one) + side)
        for one in files
        if one.suffix == ".db"
        for side in ("-journal", "-wal", "-shm")
    ]
    return sorted(set(files + sides))


@TABLE.case("G14.a", "a named pipe in the place of any file of one's own: every command answers")
def own_pipes(world):
    own(world)
    root = world.run("key", "show").text.strip()
    world.ok("trust", "add", forger.ROOT.public)
    request = world.folder / "request"
    world.ok("prove", "--from", "0", "-o", request)
    commands = (
        ["verify"],
        ["head"],
        ["session", "list"],
        ["session", "open", "--agent", "q"],
        ["trust", "add", forger.MALLORY.public],
        ["trust", "list"],
        ["witness", "add", request, "--trust", root],
        ["witness", "list"],
        ["doctor"],
    )
    for command in commands:
        world.json(*command)
    found = own_files(world)
    names = " ".join(str(one) for one in found)
    for expected in ("trust.lock", ".seen.lock", ".checkpoint.lock", ".db-journal", "key.pem"):
        demand(expected in names, "no such file to replace: " + expected, names)
    if not world.long:
        # The others are tried one by one elsewhere: the view (B15), pins and keys (L).
        found = [one for one in found if one.suffix == ".lock" or not one.exists()]
    for path in found:
        kept = path.read_bytes() if path.exists() else None
        if kept is not None:
            path.unlink()
        os.mkfifo(path)
        for command in commands:
            ran = world.json(*command)
            demand(
                ran.code == 0
                or ran.error.get("next")
                or ran.document.get("result")
                or ran.document.get("checks"),
                "%s a pipe: neither an answer nor what to do" % path.name,
                ran,
            )
        path.unlink(missing_ok=True)
        if kept is not None:
            path.write_bytes(kept)
            path.chmod(0o600)
