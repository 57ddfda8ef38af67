"""Runs the program on what the forger made, and holds every answer to the same demands.

A case passes if the program says what the case expects and, whatever it says, keeps the general
promises: no panic and no signal, an answer within `DEADLINE` and `MEMORY`, `--json`, text and exit
agreeing, no word that reads as a pass where there is none, and a folder that is byte-identical
after any command that only reads.
"""

import dataclasses
import functools
import hashlib
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import sqlite3
import stat
import subprocess
import tempfile
import threading
import time

import forger

DEADLINE = 10.0  # seconds: tells a hang, no benchmark; a loaded machine is given more
MEMORY = 512 * 1024 * 1024
ADDRESS_SPACE = 4 * 1024 * 1024 * 1024  # what keeps a runaway from taking the machine
EXITS = {
    "error": 5,
    "tampered": 4,
    "unlawful": 4,
    "undetermined": 3,
    "incomplete": 3,
    "empty": 3,
    "self_consistent": 3,
    "verified": 0,
}
# Words that a hurried reader, or a script with grep, takes for a pass.
# A plain "not" before one takes its meaning away; a dot makes it a part of a kind's name.
PASS = re.compile(
    r"(?<!not )(?<![\w.])(verified|ok|okay|admissible|intact|valid|pass|passed|success|succeeded|"
    r"clean|trusted|genuine|authentic|untampered)\b",
    re.I,
)

# The classes of attacks.md, and the stable names of ledger-format.md that they are here.
CLASSES = {
    "CHAIN": {"link", "signature"},
    "SIG": {"signature"},
    "KEY": {"key"},
    "SEQ": {"seq"},
    "ENCODING": {"malformed", "not_canonical"},
    "LIMIT": {"length"},
    "GENESIS": {"genesis"},
    "SCHEMA": {"schema"},
    "STORAGE": {"storage"},
    "CAPTURE": {"capture"},
    "EXPORT": {"export_header", "export_line"},
    "HEAD": {"rollback", "fork", "missing", "replaced", "expect"},
    "LEDGER_ID": {"expect"},
    "NOT_A_LEDGER": {"not_a_ledger", "empty_file"},
    "VERSION": {"newer", "not_a_ledger"},
    "SIDECAR": {"sidecar"},
    "NEEDS_RECOVERY": {"sidecar"},
    "BUSY": {"busy", "locked"},
    "IO": {"io", "full", "absent", "path"},
    "INDETERMINATE": {"indeterminate"},
    "KEYFILE": {"key_file", "pins"},
    "USAGE": {"usage"},
}


def classes(*names):
    return set().union(*(CLASSES[name] for name in names))


class Fail(Exception):
    """What a case expected and did not get."""


def demand(condition, message, *evidence):
    if not condition:
        shown = "; ".join(str(item)[:600] for item in evidence)
        raise Fail(message + (": " + shown if shown else ""))


@dataclasses.dataclass
class Ran:
    """How a run of the program ended."""

    argv: list
    code: int
    out: bytes
    err: bytes
    seconds: float
    memory: int
    document: dict | None = None
    shown: object = None

    @property
    def text(self):
        return self.out.decode("utf-8", "replace")

    @property
    def error(self):
        return (self.document or {}).get("error") or {}

    def __str__(self):
        shown = " ".join(
            repr(os.fsdecode(one)) if one != self.argv[0] else "handoff" for one in self.argv
        )
        return "%s -> exit %d, stdout %r, stderr %r" % (
            shown[:400],
            self.code,
            self.out[:500],
            self.err[:300],
        )


def patience(seconds):
    """How long that is here: as long, or longer in proportion where `DEADLINE` is."""
    return seconds * DEADLINE / 10.0


def number_of(name):
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:4], "big")


def snapshot(folder):
    """Every name, size, mode, time and byte in a folder."""
    seen = {}
    for parent, folders, files in os.walk(folder):
        status = os.lstat(parent)
        names = tuple(sorted(folders + files))
        seen[parent] = (status.st_mtime_ns, status.st_mode, names)
        for name in files:
            path = os.path.join(parent, name)
            status = os.lstat(path)
            content = None
            if stat.S_ISREG(status.st_mode) and status.st_blocks * 512 < 1 << 30:
                if status.st_size < 1 << 30:
                    content = hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()
            seen[path] = (status.st_size, status.st_mtime_ns, status.st_mode, content)
    return seen


class World:
    """A scratch machine: a home, a temporary folder, a folder with the evidence, and a project."""

    def __init__(self, handoff, long=False):
        self.handoff, self.long = handoff, long
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="attack-"))
        self.home = self.made("home")
        self.temporary = self.made("tmp")
        self.evidence = self.made("evidence")
        self.project = self.made("project")
        self.file = self.evidence / "ledger.db"
        self.root_key = forger.ROOT.save(self.folder / "root.pem")
        self.variables = {}
        self.noted = []
        self.name, self.many = "", False

    def note(self, fault):
        """A fault that does not keep the case from being looked at further; it fails it all the
        same."""
        if fault and fault not in self.noted:
            self.noted.append(fault)

    def sample(self):
        """A number that is the case's own, by which the short form chooses."""
        return number_of(self.name)

    def made(self, name):
        path = self.folder / name
        path.mkdir(parents=True)
        return path

    def close(self):
        for parent, folders, _ in os.walk(self.folder):
            for name in folders:
                if not os.path.islink(os.path.join(parent, name)):
                    os.chmod(os.path.join(parent, name), 0o700)
        shutil.rmtree(self.folder, ignore_errors=True)

    def environment(self, more=None):
        base = {
            "PATH": os.environ.get("PATH", "/usr/bin:/bin"),
            "HOME": str(self.home),
            "LANG": "C.UTF-8",
            "TMPDIR": str(self.temporary),
        }
        base.update(self.variables)
        base.update(more or {})
        return {name: value for name, value in base.items() if value is not None}

    def start(self, argv, cwd=None, env=None, stdin=subprocess.DEVNULL, limits=(), **popen):
        def before():
            resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            for what, value in limits:
                resource.setrlimit(what, (value, value))

        return subprocess.Popen(
            [self.handoff, *argv],
            cwd=str(cwd or self.project),
            env=self.environment(env),
            stdin=stdin,
            preexec_fn=before,
            **popen,
        )

    def run(
        self,
        *argv,
        cwd=None,
        env=None,
        deadline=None,
        limits=(),
        stdin=None,
        documented=True,
        signals=(),
    ):
        """Runs the program, and holds it to what every run is held to."""
        deadline = patience(deadline or 10.0)
        argv = [one if isinstance(one, bytes) else str(one) for one in argv]
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            began = time.monotonic()
            child = self.start(
                argv, cwd, env, stdin or subprocess.DEVNULL, limits, stdout=out, stderr=err
            )
            hung = threading.Event()

            def late():
                hung.set()
                child.kill()

            watch = threading.Timer(deadline, late)
            watch.start()
            _, status, usage = os.wait4(child.pid, 0)
            watch.cancel()
            seconds = time.monotonic() - began
            child.returncode = code = os.waitstatus_to_exitcode(status)
            out.seek(0)
            err.seek(0)
            ran = Ran(
                [self.handoff, *argv], code, out.read(), err.read(), seconds, usage.ru_maxrss * 1024
            )
        demand(not hung.is_set(), "no answer within %d s" % deadline, ran)
        demand(code >= 0 or -code in signals, "killed by signal %d" % -code, ran)
        demand(code not in (101, 132, 134, 139), "a panic", ran)
        demand(b"panicked at" not in ran.err + ran.out, "a panic", ran)
        demand(ran.memory <= MEMORY, "%d MB of memory" % (ran.memory >> 20), ran)
        if "--json" in argv and documented and code >= 0:
            ran.document = document(ran)
        return ran

    def json(self, *argv, **options):
        return self.run("--json", *argv, **options)

    def ok(self, *argv, **options):
        ran = self.json(*argv, **options)
        demand(ran.code == 0, "expected exit 0", ran)
        return ran.document

    def verify(self, path, *more, trust=forger.ROOT, **options):
        """`verify` of a file, as JSON and as text, which must agree, and must leave no trace."""
        folder = os.path.dirname(os.path.abspath(path))
        before = snapshot(folder)
        argv = ["verify", *more]
        if trust:
            argv += ["--trust", trust.public]
        argv += ["--", path]
        told = self.run("--json", *argv, **options)
        # Of many variants of one kind, the two forms are compared for a part; in the long form, for
        # all.
        both = self.long or not self.many or self.sample() % 3 == 0
        shown = self.run(*argv, **options) if both else None
        demand(snapshot(folder) == before, "the folder was changed", difference(before, folder))
        left = sorted(os.listdir(self.temporary))
        demand(not left, "left in the temporary folder", left)
        result = told.document.get("result")
        demand(result in EXITS, "an unknown result", told)
        demand(told.code == EXITS[result], "result %s with exit %d" % (result, told.code), told)
        if told.code:
            self.note(reads_as_a_pass(told))
        if shown:
            demand(
                shown.code == told.code, "text exits %d, JSON %d" % (shown.code, told.code), shown
            )
            first = shown.text.split("\n", 1)[0].split(" ", 1)[0].rstrip(":")
            demand(first == result, "text says %r, JSON %r" % (first, result), shown)
            self.note(reads_as_a_pass(shown) if told.code else None)
        told.shown = shown
        return told


def difference(before, folder):
    after = snapshot(folder)
    return [
        path for path in sorted(set(before) | set(after)) if before.get(path) != after.get(path)
    ]


def document(ran):
    """The one document on standard output, with `schema` and the exit it ended with."""
    demand(ran.out.count(b"\n") == 1 and ran.out.endswith(b"\n"), "not one line of JSON", ran)
    try:
        found = json.loads(ran.out)
    except ValueError as error:
        raise Fail("no JSON: %s: %s" % (error, ran)) from error
    demand(isinstance(found.get("schema"), str), "no schema", ran)
    demand(found.get("exit") == ran.code, "exit %s in JSON" % found.get("exit"), ran)
    return found


def reads_as_a_pass(ran):
    """The word of a rejection's standard output that reads as a pass, if there is one. Names of
    JSON members do not count: a program asks for them, and reads the value."""
    lines = ran.text.splitlines() if ran.document is None else strings(ran.document)
    for line in lines:
        found = PASS.search(line)
        if found:
            return "%r reads as a pass in %r" % (found.group(0), line[:120])
    return None


def strings(value):
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from strings(item)


# --- expectations --------------------------------------------------------------------------------

UNKNOWN_SEQ = None


@dataclasses.dataclass
class Expect:
    """What the verdict on a file must be."""

    results: set
    faults: set = dataclasses.field(default_factory=set)
    at: int | None = None
    rules: set = dataclasses.field(default_factory=set)
    codes: set = dataclasses.field(default_factory=set)
    events: int | None = None


def tampered(*names, at=None, events=None):
    """A fault of these classes, the first of it at `at`; the good prefix is what is before."""
    return Expect(
        {"tampered"}, faults=classes(*names), at=at, events=events if events is not None else at
    )


def unlawful(*rules, at=None):
    """A refused event, by one of these rules."""
    return Expect({"unlawful"}, rules=set(rules), at=at)


def unreadable(*names):
    """No ledger, or one that cannot be looked at."""
    return Expect({"error"}, codes=classes(*names))


def either(one, other):
    return Expect(
        one.results | other.results,
        faults=one.faults | other.faults,
        at=one.at,
        rules=one.rules | other.rules,
        codes=one.codes | other.codes,
    )


def says(told, words):
    """The text, where it was asked for, says this too."""
    demand(
        told.shown is None or words in told.shown.text,
        "the text does not say %r" % words,
        told.shown,
    )


def hold(told, expect):
    """Holds what `verify` said to an expectation."""
    result = told.document["result"]
    demand(result in expect.results, "result %s, expected %s" % (result, expect.results), told)
    if result == "tampered":
        faults = told.document["faults"]
        demand(faults, "tampered, and no fault", told)
        first = faults[0]
        kinds = {fault["kind"] for fault in faults if fault.get("seq") == first.get("seq")}
        if expect.at is not None:
            demand(
                first.get("seq") == expect.at,
                "the first fault is at %s, expected %s" % (first.get("seq"), expect.at),
                faults,
            )
            says(told, "at event %d" % expect.at)
        demand(kinds & expect.faults, "faults %s, expected %s" % (kinds, expect.faults), faults)
        says(told, first["kind"])
        if expect.events is not None:
            demand(
                told.document["events"] == expect.events,
                "%s good events, expected %s" % (told.document["events"], expect.events),
                told,
            )
            head = told.document["head"]
            demand((head or {}).get("seq", -1) == expect.events - 1, "another head", head)
    if result == "unlawful":
        refused = [one for one in told.document["refused"] if not one["acknowledged"]]
        demand(refused, "unlawful, and no refused event", told)
        rules = {(one["seq"], one["rule"]) for one in refused}
        wanted = {
            (seq, rule) for seq, rule in rules if rule in expect.rules and expect.at in (None, seq)
        }
        demand(wanted, "refused %s, expected %s at %s" % (rules, expect.rules, expect.at), told)
        for seq, rule in wanted:
            says(told, "refused event %d by %s" % (seq, rule))
    if result == "error":
        code = told.error.get("code")
        demand(code in expect.codes, "code %s, expected %s" % (code, expect.codes), told)


# Commands that only show; on a hostile file they must keep the general promises too.
READERS = [
    ["state"],
    ["head"],
    ["log"],
    ["export"],
    ["brief"],
    ["show", "0"],
    ["can", "claim"],
    ["session", "list"],
    ["key", "list"],
    ["state", "--at", "50"],
]


def readers(world, path, trust, rejected=True, count=None):
    """Runs reading commands on a file; none may change its folder, panic, or answer as if all were
    well where `verify` would not. A different few for every case, all of them in the long form."""
    folder = os.path.dirname(os.path.abspath(path))
    before = snapshot(folder)
    chosen = READERS
    if not world.long:
        at = world.sample()
        chosen = [READERS[(at + step) % len(READERS)] for step in range(count or 2)]
    for command in chosen:
        argv = ["--ledger", path, *command]
        if trust:
            argv = ["--trust", trust.public, *argv]
        listing = command[0] in ("log", "export")
        form = [] if command[0] == "export" else ["--json"]
        ran = world.run(*form, *argv, documented=not listing)
        if rejected:
            demand(ran.code != 0, "%s answers as if all were well" % command[0], ran)
        if rejected and not listing:
            # It fails, or it answers from the good prefix, and says in the same document of what.
            prefix = ran.document.get("integrity") or {}
            demand(
                ran.error.get("code") or prefix.get("result") in EXITS,
                "a failure without a name",
                ran,
            )
        demand(
            snapshot(folder) == before,
            "%s changed the folder" % command[0],
            difference(before, folder),
        )


def refuses_to_write(world, path, trust=forger.ROOT):
    """No command may append to it; and it stays as it is."""
    folder = os.path.dirname(os.path.abspath(path))
    before = snapshot(folder)
    ran = world.json(
        "--trust",
        trust.public,
        "--key",
        world.root_key,
        "--ledger",
        path,
        "session",
        "open",
        "--agent",
        "victim",
    )
    demand(ran.code != 0, "it was written to", ran)
    demand(ran.error.get("code") and ran.error.get("message"), "a failure without a code", ran)
    demand(ran.error.get("next"), "a refusal without the command to type next", ran)
    demand(
        snapshot(folder) == before,
        "a refused append changed the folder",
        difference(before, folder),
    )
    return ran


def rejected(world, path, expect, trust=forger.ROOT, write=True):
    """The whole of what a rejected file is held to."""
    told = world.verify(path, trust=trust)
    demand(told.code != 0, "a forged file was accepted", told)
    hold(told, expect)
    # Variants of one kind take one path through the other commands: a part of them does, and in
    # the long form all. A refused event blocks nobody (section 9): the next may be written.
    if world.long or world.sample() % 5 == 0:
        lawful = "unlawful" in expect.results
        readers(world, path, trust, rejected=not lawful)
        if write and not lawful:
            refuses_to_write(world, path, trust)
    return told


def accepted(world, path, events=None, trust=forger.ROOT, head=None):
    """A file that must verify, with that many events and that head."""
    told = world.verify(path, trust=trust)
    demand(told.document["result"] == "verified", "a good file was rejected", told)
    if events is not None:
        demand(told.document["events"] == events, "another count of events", told)
    if head is not None:
        demand(told.document["head"]["line"] == head, "another head", told)
    return told


# --- cases ---------------------------------------------------------------------------------------


@dataclasses.dataclass
class Case:
    """One attack: its row of attacks.md and a letter, what is done, and how it is judged."""

    id: str
    what: str
    judge: object
    slow: bool = False
    reads_only: bool = True

    @property
    def row(self):
        return self.id.split(".")[0]


class Table:
    """The cases of a section."""

    def __init__(self, section):
        self.section, self.cases = section, []

    def case(self, name, what, slow=False):
        """Adds the function as a case."""

        def added(judge):
            self.add(name, what, judge, slow)
            return judge

        return added

    def add(self, name, what, judge, slow=False):
        if any(case.id == name for case in self.cases):
            raise ValueError("two cases are called " + name)
        self.cases.append(Case(name, what, judge, slow))

    def sql(self, name, what, statements, expect, **options):
        """The file of L, edited with SQL by somebody without a key."""

        def judge(world):
            edit(good(world), statements)
            outcome(world, expect, **options)

        self.add(name, what, judge)

    def bytes(self, name, what, change, expect, **options):
        """The file of L, its bytes edited."""

        def judge(world):
            path = good(world)
            data = bytearray(path.read_bytes())
            data = change(data) or data
            path.write_bytes(data)
            outcome(world, expect, **options)

        self.add(name, what, judge)

    def forged(self, name, what, forge, expect, **options):
        """L with something signed by the forger; `forge` changes a copy of it, and may return what
        to expect in place of `expect`."""

        def judge(world):
            made = ledger()
            wanted = forge(made) or expect
            made.save(world.file)
            outcome(world, wanted if isinstance(wanted, Expect) else expect, **options)

        self.add(name, what, judge)


def outcome(world, expect, **options):
    if expect is None:
        return accepted(world, world.file, **options)
    return rejected(world, world.file, expect, **options)


@functools.lru_cache(None)
def _built():
    return forger.build()


def ledger():
    """A copy of L."""
    return _built().copy()


@functools.lru_cache(None)
def _file():
    with tempfile.TemporaryDirectory() as folder:
        return pathlib.Path(_built().save(os.path.join(folder, "l.db"))).read_bytes()


def good(world):
    """Puts the file of L where the evidence goes."""
    world.file.write_bytes(_file())
    os.chmod(world.file, 0o600)
    return world.file


def edit(path, statements):
    """Edits a ledger file as an attacker does: triggers, checks and defences off."""
    connection = sqlite3.connect(path, isolation_level=None)
    sql = connection.execute
    sql("PRAGMA synchronous=OFF")
    sql("PRAGMA ignore_check_constraints=ON")
    sql("PRAGMA writable_schema=ON")
    if not callable(statements):

        def statements_of(run, listed=statements):
            for statement in [listed] if isinstance(listed, str) else listed:
                run(statement)

        statements = statements_of
    statements(sql)
    connection.close()


def triggers_off(sql):
    """Drops the guards, and gives back what makes them again, as an attacker would."""
    rows = sql("SELECT name, sql FROM sqlite_schema WHERE type='trigger'").fetchall()
    for name, _ in rows:
        sql("DROP TRIGGER " + name)

    def again():
        for _, text in rows:
            sql(text)

    return again


def unguarded(*statements):
    """Statements run with the triggers away; they stand there again afterwards, byte for byte."""

    def run(sql):
        again = triggers_off(sql)
        for statement in statements:
            if callable(statement):
                statement(sql)
            else:
                sql(statement)
        again()

    return run


def record(sql, seq):
    return sql("SELECT record FROM event WHERE seq=?", (seq,)).fetchone()[0]


def put(sql, seq, data):
    sql("UPDATE event SET record=? WHERE seq=?", (data, seq))


def kill(process, number=signal.SIGKILL):
    """Ends a process that this suite started."""
    try:
        os.kill(process.pid, number)
    except ProcessLookupError:
        pass
