"""B: truncation, rollback, forks, substitution."""

import os
import shutil

import forger
from harness import (
    Expect,
    Table,
    accepted,
    classes,
    demand,
    difference,
    edit,
    good,
    hold,
    ledger,
    readers,
    refuses_to_write,
    rejected,
    snapshot,
    tampered,
    unguarded,
    unlawful,
)

TABLE = Table("B")
FULL = ledger()
COUNT = FULL.count


def cut(world, keep):
    path = good(world)
    edit(path, unguarded("DELETE FROM event WHERE seq>=%d" % keep))
    return path


# --- truncation ---

for keep in (1, 5, 150, COUNT - 1):

    def shorter(world, keep=keep):
        """Nothing inside shows it; so the count, the head and what is not proven are told."""
        told = accepted(world, cut(world, keep), keep, head=FULL.head_line(keep - 1))
        end = told.document["end"]
        demand(not end["proven"] and end["by"] == "none", "the end is called proven", end)
        demand(any("end" in one for one in told.document["not_proven"]), "it is not told", told)
        demand("not proven" in told.shown.text, "the text does not tell it", told.shown)

    def expected(world, keep=keep):
        path = cut(world, keep)
        told = world.verify(path, "--expect", FULL.head_line())
        hold(told, tampered("HEAD"))
        demand(told.document["end"]["proven"] is not True, "the end is called proven", told)

    def met(world, keep=keep):
        """A head that is older than the cut is met, and proves no end."""
        path = cut(world, keep)
        told = world.verify(path, "--expect", FULL.head_line(0))
        demand(told.document["result"] == "verified", "an older head is not met", told)

    TABLE.add("B1.a%d" % keep, "all from %d on deleted, nothing known outside" % keep, shorter)
    TABLE.add("B1.b%d" % keep, "all from %d on deleted, the head expected" % keep, expected)
    TABLE.add("B1.c%d" % keep, "all from %d on deleted, an older head expected" % keep, met)

OTHER_HEAD = {
    "another leaf": FULL.head_line()[:-64] + "0" * 64,
    "another ledger": "handoff1:" + "0" * 12 + FULL.head_line()[21:],
    "a seq beyond": "handoff1:%s:%d:%s" % (FULL.id[:12], COUNT, forger.leaf(FULL.records[-1])),
    "the leaf of another seq": "handoff1:%s:%d:%s"
    % (FULL.id[:12], COUNT - 1, forger.leaf(FULL.records[-2])),
}
for number, (name, line) in enumerate(OTHER_HEAD.items()):

    def refused(world, line=line):
        told = world.verify(good(world), "--expect", line)
        hold(told, tampered("HEAD"))

    def by_variable(world, line=line):
        told = world.verify(good(world), env={"HANDOFF_EXPECT": line})
        hold(told, tampered("HEAD"))

    TABLE.add("B1.d%d" % number, "--expect with " + name, refused)
    TABLE.add("B1.e%d" % number, "HANDOFF_EXPECT with " + name, by_variable)
for number, line in enumerate(
    (
        "",
        "handoff1",
        "handoff1::0:",
        "handoff2:" + FULL.head_line()[9:],
        FULL.head_line() + "0",
        FULL.head_line()[:-1],
        FULL.head_line().upper(),
        " " + FULL.head_line(),
        FULL.head_line().replace(":%d:" % (COUNT - 1), ":0%d:" % (COUNT - 1)),
    )
):

    def no_head(world, line=line):
        told = world.json(
            "verify", "--trust", forger.ROOT.public, "--expect", line, "--", good(world)
        )
        demand(told.code in (2, 4, 5), "it was taken for a head that is met", told)

    TABLE.add("B1.f%d" % number, "--expect %r" % line[:24], no_head)


# --- what this machine remembers ---


def known(world, count=None):
    """This machine's own ledger, which it has written to, so that it remembers the head."""
    path = world.project / ".handoff" / "ledger.db"
    path.parent.mkdir()
    made = ledger() if count is None else ledger().truncate(count)
    made.save(path)
    world.ok("trust", "add", forger.ROOT.public)
    world.ok("--key", world.root_key, "session", "open", "--agent", "mine")
    return path


def own_verify(world, *more):
    told = world.json("verify", *more)
    told.shown = world.run("verify", *more)
    demand(told.shown.code == told.code, "text and JSON exit differently", told.shown)
    return told


def view(world):
    folder = world.home / ".local/state/handoff/views"
    found = folder / (FULL.id + ".db")
    demand(found.exists(), "no view was made", list(folder.iterdir()))
    return found


def refused_everywhere(world, path, *kinds):
    """`verify`, and every command that would build on the ledger, tell the rollback or fork."""
    before = path.read_bytes()
    told = own_verify(world)
    hold(told, tampered(*kinds))
    for command in (
        ["session", "open", "--agent", "x"],
        ["resume", "--agent", "x"],
        ["seal"],
        ["retract", "claim", "--reason", "r"],
        ["probe", "--", "cat", "x"],
    ):
        ran = world.json("--key", world.root_key, *command)
        demand(ran.code == 4, "%s went on" % command[0], ran)
        demand(ran.error.get("code") in classes(*kinds), "another code", ran)
        demand(ran.error.get("next"), "no command to type next", ran)
    for command in (["state"], ["can", "claim"], ["brief"], ["head"], ["log"]):
        ran = world.run(*command)
        demand(ran.code != 0, "%s answered as if nothing were" % command[0], ran)
    # An export is how what is left is saved, so that it may go on; but not without a word.
    ran = world.run("export")
    demand(ran.code != 0 or ran.err, "export answered as if nothing were", ran)
    demand(path.read_bytes() == before, "the file was changed")


ROLLBACKS = {
    "older copy": lambda world, path, old: path.write_bytes(old),
    "last event deleted": lambda world, path, old: edit(
        path, unguarded("DELETE FROM event WHERE seq=%d" % COUNT)
    ),
    "all but genesis deleted": lambda world, path, old: edit(
        path, unguarded("DELETE FROM event WHERE seq>0")
    ),
}
for number, (name, act) in enumerate(ROLLBACKS.items()):

    def rolled(world, act=act):
        path = known(world)
        old = ledger().save(world.folder / "old.db").read_bytes()
        act(world, path, old)
        refused_everywhere(world, path, "HEAD")

    TABLE.add("B5.%s" % "abc"[number], "rolled back under a view: " + name, rolled)


@TABLE.case("B3.a", "every row deleted: empty, exit 3")
def emptied(world):
    path = good(world)
    edit(path, unguarded("DELETE FROM event"))
    told = world.verify(path)
    demand(told.document["result"] == "empty" and told.document["events"] == 0, "not empty", told)
    refuses_to_write(world, path)


@TABLE.case("B3.b", "every row deleted under a view")
def emptied_known(world):
    path = known(world)
    edit(path, unguarded("DELETE FROM event"))
    told = own_verify(world)
    demand(
        told.code in (3, 4) and told.document["result"] in ("empty", "tampered"), "accepted", told
    )
    ran = world.json("--key", world.root_key, "session", "open", "--agent", "x")
    demand(ran.code != 0, "an emptied ledger was written to", ran)


@TABLE.case("B3.c", "every row deleted, the head expected")
def emptied_expected(world):
    path = good(world)
    edit(path, unguarded("DELETE FROM event"))
    told = world.verify(path, "--expect", FULL.head_line())
    hold(told, tampered("HEAD"))


@TABLE.case("B3.d", "init over the emptied file makes no new ledger of it")
def emptied_init(world):
    path = known(world)
    edit(path, unguarded("DELETE FROM event"))
    before = path.read_bytes()
    ran = world.json("--key", world.root_key, "init")
    demand(ran.code != 0 and path.read_bytes() == before, "it was made anew", ran)


@TABLE.case("B6.a", "a fork under a view: the last event is another lawful one")
def forked(world):
    path = known(world)
    made = ledger()
    made.open(forger.ROOT, "another")
    path.unlink()
    made.save(path)
    refused_everywhere(world, path, "HEAD")


@TABLE.case("B6.b", "a fork under a view, and longer than what was known")
def forked_longer(world):
    path = known(world)
    made = ledger()
    for number in range(5):
        made.open(forger.ROOT, "another-%d" % number)
    path.unlink()
    made.save(path)
    refused_everywhere(world, path, "HEAD")


@TABLE.case("B6.c", "a copy elsewhere that is an older prefix: told, and not called tampered")
def older_prefix(world):
    known(world)
    told = world.verify(cut(world, 150))
    demand(told.document["result"] != "tampered", "an older copy is called tampered", told)


@TABLE.case("B6.d", "a copy elsewhere that is a fork of what is known")
def fork_elsewhere(world):
    known(world)
    made = ledger()
    made.open(forger.ROOT, "another")
    made.save(world.file)
    told = world.verify(world.file)
    hold(told, tampered("HEAD"))


# --- storage that hides rows ---

for number, (name, root) in enumerate(
    (("capture's", None), ("page 1", 1), ("none", 0), ("beyond the file", 9999), ("a leaf", -1))
):

    def rerooted(world, root=root):
        path = good(world)

        def point(sql):
            other = root
            if root is None:
                other = sql("SELECT rootpage FROM sqlite_schema WHERE name='capture'").fetchone()[0]
            if root == -1:
                other = (
                    sql(
                        "SELECT pageno FROM dbstat WHERE name='event' AND pagetype='leaf' LIMIT 1"
                    ).fetchone()[0]
                    if has_dbstat(sql)
                    else 5
                )
            sql("UPDATE sqlite_schema SET rootpage=? WHERE name='event'", (other,))

        edit(path, point)
        rejected(
            world,
            path,
            Expect(
                {"tampered", "error"},
                faults=classes("STORAGE", "SCHEMA"),
                codes=classes("NOT_A_LEDGER") | {"storage"},
            ),
        )

    TABLE.add("B4.a%d" % number, "event's root page is " + name, rerooted)


def has_dbstat(sql):
    try:
        sql("SELECT 1 FROM dbstat LIMIT 1").fetchone()
        return True
    except Exception:
        return False


def event_root(data):
    """Where the root page number of `event` stands in page 1: before the SQL of the table."""
    at = bytes(data).index(b"tableeventevent") + len(b"tableeventevent")
    return at


for bit in range(8):

    def one_bit(world, bit=bit):
        path = good(world)
        data = bytearray(path.read_bytes())
        data[event_root(data)] ^= 1 << bit
        path.write_bytes(data)
        told = world.verify(path)
        demand(told.code in (4, 5), "rows were hidden by one bit", told)
        refuses_to_write(world, path)

    TABLE.add("B4.b%d" % bit, "bit %d of event's root page number" % bit, one_bit)


# --- substitution ---


def other_ledger():
    made = forger.Ledger(root=forger.MALLORY, name="other")
    made.open(forger.MALLORY, "agent")
    return made


@TABLE.case("B7.a", "another ledger under the same name, the root pinned")
def substituted(world):
    other_ledger().save(world.file)
    told = world.verify(world.file)
    demand(told.document["result"] == "self_consistent", "a strange root is trusted", told)
    demand(told.document["ledger"] != FULL.id, "the ledger id is not shown", told)
    demand(told.document["signer"]["basis"] == "unpinned", "another basis", told)
    readers(world, world.file, forger.ROOT, rejected=False)
    ran = world.json("--trust", forger.ROOT.public, "--ledger", world.file, "can", "claim")
    demand(ran.code != 0, "a strange root's claim may be acted on", ran)
    refuses_to_write(world, world.file)


@TABLE.case("B7.b", "another ledger under the same name, the head expected")
def substituted_expected(world):
    other_ledger().save(world.file)
    told = world.verify(world.file, "--expect", FULL.head_line())
    hold(told, tampered("LEDGER_ID"))


@TABLE.case("B7.c", "another ledger of the same root under the same name: another id is shown")
def same_root(world):
    made = forger.Ledger(name="other")
    made.save(world.file)
    told = accepted(world, world.file, 1)
    demand(told.document["ledger"] == made.id != FULL.id, "another id", told)
    told = world.verify(world.file, "--expect", FULL.head_line())
    hold(told, tampered("LEDGER_ID"))


@TABLE.case("B7.d", "the project's own ledger replaced by another one of an unknown root")
def own_replaced(world):
    path = known(world)
    path.unlink()
    other_ledger().save(path)
    told = own_verify(world)
    demand(told.code in (3, 4), "a strange ledger was taken for ours", told)
    before = path.read_bytes()
    for command in (["session", "open", "--agent", "x"], ["state"], ["can", "claim"]):
        ran = world.json("--key", world.root_key, *command)
        demand(ran.code != 0, "%s went on" % command[0], ran)
    demand(path.read_bytes() == before, "the file was changed")


@TABLE.case("B7.e", "the export of another ledger as the file")
def other_export(world):
    world.file.write_bytes(other_ledger().export())
    told = world.verify(world.file)
    demand(told.document["result"] == "self_consistent", "a strange root is trusted", told)


@TABLE.case("B8.a", "genesis of the attacker's key, the rest as it was")
def new_genesis(world):
    made = ledger()
    genesis = other_ledger()
    made.records[0] = genesis.records[0]
    made.save(world.file)
    rejected(world, world.file, tampered("CHAIN", at=1))


@TABLE.case("B8.b", "genesis of the attacker's key, prev of the rest made right, old signatures")
def new_genesis_chained(world):
    made = ledger()
    made.records[0] = other_ledger().records[0]
    for seq in range(1, made.count):
        event = dict(made.events[seq], prev=forger.leaf(made.records[seq - 1]))
        made.records[seq] = made.records[seq][:64] + forger.canonical(event)
    made.save(world.file)
    rejected(world, world.file, tampered("SIG", at=1))


@TABLE.case("B8.c", "every event the attacker's: consistent, and of nobody we know")
def all_forged(world):
    made = ledger()
    events = made.events
    fake = made.copy().truncate(0)
    for event in events:
        event = dict(event, prev=fake.prev, key=forger.MALLORY.public)
        data = forger.canonical(event)
        fake.put(event, data, forger.MALLORY.sign(data))
    fake.save(world.file)
    told = world.verify(world.file)
    demand(told.document["result"] in ("self_consistent", "unlawful"), "trusted", told)


GENESIS = {
    "name": "again",
    "nonce": "0" * 64,
    "policy": {"asserted_values": False, "four_eyes": False},
    "rules": 1,
}
for number, (name, key) in enumerate(
    (("root", forger.ROOT), ("recorder", forger.ALICE), ("stranger", forger.Key(0x77)))
):
    TABLE.forged(
        "B9.a%d" % number,
        "a second ledger.opened, by the %s" % name,
        lambda made, key=key: made.add("ledger.opened", GENESIS, key) and None,
        unlawful("already_opened", at=COUNT),
    )
TABLE.forged(
    "B9.b",
    "the bytes of genesis again",
    lambda made: made.put(None, made.records[0][64:], made.records[0][:64]) and None,
    tampered("SEQ", at=COUNT),
)
TABLE.forged(
    "B9.c",
    "a second ledger.opened that says seq 0",
    lambda made: made.add("ledger.opened", GENESIS, seq=0) and None,
    tampered("SEQ", at=COUNT),
)
TABLE.forged(
    "B9.d",
    "a second ledger.opened with no prev",
    lambda made: made.add("ledger.opened", GENESIS, prev=forger.NO_LEAF) and None,
    tampered("CHAIN", at=COUNT),
)


@TABLE.case("B9.e", "the first event opens no ledger")
def no_genesis(world):
    made = forger.Ledger()
    made.truncate(0)
    made.open(forger.ROOT, "x")
    made.save(world.file)
    rejected(world, world.file, tampered("GENESIS", at=0))


@TABLE.case("B9.f", "genesis of seq 1")
def late_genesis(world):
    made = forger.Ledger()
    made.truncate(0)
    made.add("ledger.opened", GENESIS, seq=1)
    made.save(world.file)
    rejected(world, world.file, tampered("SEQ", at=0))


@TABLE.case("B9.g", "genesis with a prev")
def linked_genesis(world):
    made = forger.Ledger()
    made.truncate(0)
    made.add("ledger.opened", GENESIS, prev="1" * 64)
    made.save(world.file)
    rejected(world, world.file, tampered("CHAIN", at=0))


for seq in (1, 50, 100, COUNT - 1):
    TABLE.forged(
        "B11.%d" % seq,
        "the signed bytes of %d replayed at the end" % seq,
        lambda made, seq=seq: (
            made.put(None, made.records[seq][64:], made.records[seq][:64]) and None
        ),
        tampered("SEQ", at=COUNT),
    )
TABLE.forged(
    "B11.e",
    "an event of another ledger of the same root, at its own seq",
    lambda made: (
        made.truncate(1)
        and made.put(None, same_root_second()[64:], same_root_second()[:64])
        and None
    ),
    tampered("CHAIN", at=1),
)


def same_root_second():
    made = forger.Ledger(name="other")
    made.open(forger.ROOT, "agent")
    return made.records[1]


for back in (2, 3, 100, COUNT):

    def ancestor(made, back=back):
        prev = forger.leaf(made.records[-back]) if back <= made.count else forger.NO_LEAF
        made.add(
            "session.opened",
            {"agent": "x", "inherits": [], "scope": forger.SCOPE},
            forger.BOB,
            prev=prev,
        )

    TABLE.forged("B12.a%d" % back, "prev is %d back" % back, ancestor, tampered("CHAIN", at=COUNT))
for number, (name, prev) in enumerate(
    (("zero", forger.NO_LEAF), ("itself unknown", "a" * 64), ("the ledger id", FULL.id))
):
    TABLE.forged(
        "B12.b%d" % number,
        "prev is " + name,
        lambda made, prev=prev: (
            made.add(
                "session.opened",
                {"agent": "x", "inherits": [], "scope": forger.SCOPE},
                forger.BOB,
                prev=prev,
            )
            and None
        ),
        tampered("CHAIN", at=COUNT),
    )


def bare_hash(made):
    """prev as SHA-256 of the record without the leaf's prefix byte."""
    made.add(
        "session.opened",
        {"agent": "x", "inherits": [], "scope": forger.SCOPE},
        forger.BOB,
        prev=forger.sha256(made.records[-1]).hex(),
    )


TABLE.forged(
    "B12.c", "prev is the hash without the prefix of a leaf", bare_hash, tampered("CHAIN", at=COUNT)
)


def hash_of_bytes(made):
    made.add(
        "session.opened",
        {"agent": "x", "inherits": [], "scope": forger.SCOPE},
        forger.BOB,
        prev=forger.sha256(b"\0" + made.records[-1][64:]).hex(),
    )


TABLE.forged(
    "B12.d", "prev is the leaf of the event bytes alone", hash_of_bytes, tampered("CHAIN", at=COUNT)
)


# --- equivocation ---


def two_sided(world, one, two, after=0):
    """Two ledgers that part at the same seq, each of which verifies alone."""
    files = []
    for name, key, agent in (("a.db", one[0], one[1]), ("b.db", two[0], two[1])):
        made = ledger()
        made.open(key, agent)
        for number in range(after):
            made.open(key, "%s-%d" % (agent, number))
        path = world.evidence / name
        made.save(path)
        accepted(world, path, COUNT + 1 + after)
        files.append(path)
    return files


for number, (name, one, two, after) in enumerate(
    (
        (
            "one key signs two events for one seq and prev",
            (forger.ALICE, "x"),
            (forger.ALICE, "y"),
            0,
        ),
        ("the same, and both go on", (forger.ALICE, "x"), (forger.ALICE, "y"), 3),
        ("two keys sign for one seq", (forger.ALICE, "x"), (forger.BOB, "y"), 0),
    )
):

    def equivocated(world, one=one, two=two, after=after):
        files = two_sided(world, one, two, after)
        before = snapshot(world.evidence)
        for pair in (files, files[::-1]):
            ran = world.json("compare", "--trust", forger.ROOT.public, *pair)
            demand(ran.code == 4, "a fork is no failure", ran)
            shown = str(ran.document)
            demand(str(COUNT) in shown, "the seq is not named", ran)
            demand("equivocat" in shown or "fork" in shown, "it is not called what it is", ran)
            for key in {one[0], two[0]}:
                demand(key.public in shown, "the signer is not named", ran)
            text = world.run("compare", "--trust", forger.ROOT.public, *pair)
            demand(text.code == 4, "text exits otherwise", text)
        demand(
            snapshot(world.evidence) == before,
            "the folder was changed",
            difference(before, world.evidence),
        )

    TABLE.add("B13.%s" % "abc"[number], "equivocation: " + name, equivocated)


@TABLE.case("B13.d", "a copy and its prefix are no equivocation")
def prefix(world):
    one, two = world.evidence / "a.db", world.evidence / "b.db"
    ledger().save(one)
    ledger().truncate(150).save(two)
    for pair in ((one, two), (two, one), (one, one)):
        ran = world.json("compare", "--trust", forger.ROOT.public, *pair)
        demand(ran.code in (0, 1), "a prefix is called a fork", ran)


@TABLE.case("B13.e", "two ledgers that have nothing to do with each other")
def unrelated(world):
    one, two = world.evidence / "a.db", world.evidence / "b.db"
    ledger().save(one)
    other_ledger().save(two)
    ran = world.json("compare", "--trust", forger.ROOT.public, one, two)
    demand(ran.code != 0, "they compare as the same", ran)


@TABLE.case("B13.f", "a fork against a file whose other half is forged proves nothing of a key")
def forged_half(world):
    one, two = world.evidence / "a.db", world.evidence / "b.db"
    made = ledger()
    made.open(forger.ALICE, "x")
    made.save(one)
    made = ledger()
    event = made.event(
        "session.opened", {"agent": "y", "inherits": [], "scope": forger.SCOPE}, forger.ALICE
    )
    made.put(event, forger.canonical(event), bytes(64))
    made.save(two)
    ran = world.json("compare", "--trust", forger.ROOT.public, one, two)
    demand(ran.code not in (0,), "a tampered file compares well", ran)
    demand(
        "equivocation" not in str(ran.document.get("result", "")),
        "a forged signature is taken as proof against its key",
        ran,
    )


# --- the view ---


def with_view(name, what, act):
    def judge(world):
        path = known(world)
        act(world, view(world))
        told = own_verify(world)
        result, end = told.document["result"], told.document["end"]
        demand(told.code in (0, 4, 5), "another exit", told)
        if told.code == 0:
            demand(result == "verified", "another result", told)
            if end["by"] == "view":
                demand(end["proven"], "by the view, and not proven", end)
            else:
                demand(not end["proven"] and told.document["not_proven"], "the end is proven", end)
        ran = world.json("state")
        demand(ran.code in (0, 1, 3, 4, 5), "state broke", ran)
        ran = world.json("--key", world.root_key, "session", "open", "--agent", "again")
        demand(ran.code in (0, 5), "writing neither works nor says why", ran)
        if ran.code == 0:
            demand(ran.document["head"]["seq"] == COUNT + 1, "at another seq", ran)
            told = own_verify(world)
            demand(told.document["result"] == "verified", "what was written is not verified", told)
        demand(path.stat().st_size > 0, "the ledger is gone")

    TABLE.add(name, "the view " + what, judge)


def foreign_view(world, found):
    """The view of another ledger under this one's name."""
    other = world.folder / "elsewhere"
    other.mkdir()
    made = other_ledger()
    made.save(other / "l.db")
    key = forger.MALLORY.save(world.folder / "m.pem")
    world.ok(
        "--trust",
        forger.MALLORY.public,
        "--ledger",
        other / "l.db",
        "--key",
        key,
        "session",
        "open",
        "--agent",
        "x",
    )
    source = found.parent / (made.id + found.name[64:])
    demand(source.exists(), "no view of the other ledger")
    shutil.copyfile(source, found)


with_view("B15.a", "deleted", lambda world, found: found.unlink())
with_view("B15.b", "its folder deleted", lambda world, found: shutil.rmtree(found.parent))
with_view("B15.c", "world-writable", lambda world, found: os.chmod(found, 0o666))
with_view("B15.d", "its folder world-writable", lambda world, found: os.chmod(found.parent, 0o777))
with_view("B15.e", "of another ledger", foreign_view)
with_view("B15.f", "rubbish", lambda world, found: found.write_bytes(os.urandom(5000)))
with_view("B15.g", "empty", lambda world, found: found.write_bytes(b""))
with_view(
    "B15.h",
    "cut in half",
    lambda world, found: found.write_bytes(found.read_bytes()[: found.stat().st_size // 2]),
)
with_view(
    "B15.i",
    "a symbolic link to nowhere",
    lambda world, found: (found.unlink(), found.symlink_to(world.folder / "nowhere")),
)
with_view("B15.j", "a named pipe", lambda world, found: (found.unlink(), os.mkfifo(found)))
with_view("B15.k", "a folder", lambda world, found: (found.unlink(), found.mkdir()))
with_view("B15.l", "unreadable", lambda world, found: os.chmod(found, 0))
with_view(
    "B15.m",
    "a copy of the ledger itself",
    lambda world, found: shutil.copyfile(world.project / ".handoff/ledger.db", found),
)
with_view(
    "B15.n",
    "with a foreign journal beside it",
    lambda world, found: (found.parent / (found.name + "-journal")).write_bytes(os.urandom(600)),
)
with_view(
    "B15.o",
    "every bit of one page inverted",
    lambda world, found: found.write_bytes(
        found.read_bytes()[:4096]
        + bytes(255 - one for one in found.read_bytes()[4096:8192])
        + found.read_bytes()[8192:]
    ),
)


@TABLE.case("B15.p", "a deleted view must not hide a rollback that --expect shows")
def no_view_expect(world):
    path = known(world)
    head = world.ok("head")["head"]["line"]
    view(world).unlink()
    edit(path, unguarded("DELETE FROM event WHERE seq>=150"))
    told = own_verify(world, "--expect", head)
    hold(told, tampered("HEAD"))


@TABLE.case("B15.q", "a view edited to remember a shorter ledger is no proof of the end")
def shorter_view(world):
    """With all that is remembered put back to an older moment, a rollback to that moment cannot be
    seen; then what is claimed must be no more than what is remembered."""
    path = known(world, 150)
    folder = view(world).parent
    old = {one: one.read_bytes() for one in [path, *folder.iterdir()] if one.is_file()}
    world.ok("--key", world.root_key, "session", "open", "--agent", "more")
    new = {one: one.read_bytes() for one in folder.iterdir() if one.is_file()}
    for one, bytes_ in old.items():
        one.write_bytes(bytes_)
    for one in new.keys() - old.keys():
        one.unlink()
    told = own_verify(world)
    demand(told.code == 0 and told.document["events"] == 151, "another answer", told)
    # As long as one of the files that know of the later event is left, it is a rollback.
    for one in (one for one in new if one.suffix in (".db", ".recent")):
        kept = one.read_bytes() if one.exists() else None
        one.write_bytes(new[one])
        hold(own_verify(world), tampered("HEAD"))
        one.unlink() if kept is None else one.write_bytes(kept)
