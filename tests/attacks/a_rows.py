"""A: rows edited by somebody without keys."""

import forger
from harness import (
    Expect,
    Table,
    accepted,
    classes,
    demand,
    edit,
    good,
    hold,
    ledger,
    put,
    readers,
    record,
    refuses_to_write,
    rejected,
    tampered,
    unguarded,
)

TABLE = Table("A")
COUNT = ledger().count
LAST = COUNT - 1
MAX = 2**63 - 1


def changed(seq, change):
    """The record at `seq` changed, the guards standing again afterwards."""
    return unguarded(lambda sql: put(sql, seq, change(record(sql, seq))))


def flip(at, mask=1):
    def change(data):
        data = bytearray(data)
        data[at] ^= mask
        return bytes(data)

    return change


# A1: the event bytes, with the row's own spelling of the attack, then one place after another.
TABLE.sql(
    "A1.a",
    "replace(record, 'a', 'b') at 100",
    unguarded("UPDATE event SET record=CAST(replace(record,x'61',x'62') AS BLOB) WHERE seq=100"),
    tampered("ENCODING", "SIG", at=100),
)
for number, seq in enumerate((0, 1, 4, 50, 100, 150, LAST)):

    def other_digit(data):
        at = data.rindex(b'"time":"2026') + 11
        return data[:at] + b"7" + data[at + 1 :]

    TABLE.sql(
        "A1.b%d" % number,
        "another year in the time of %d" % seq,
        changed(seq, other_digit),
        tampered("SIG", at=seq),
    )
EDITS = {
    "value": (b'"value":"4"', b'"value":"5"'),
    "argv": (b'"argv":["cat"', b'"argv":["rat"'),
    "outcome": (b'"exit":0', b'"exit":1'),
    "met": (b'"pipe_held":false', b'"pipe_held":true'),
    "kind": (b'"probe.receipt"', b'"probe.deceits"'),
    "session": (b'"session":4', b'"session":5'),
    "version": (b'"v":1}', b'"v":2}'),
}
for name, (old, new) in EDITS.items():

    def swapped(data, old=old, new=new):
        demand(old in data, "L has another event at 100")
        return data.replace(old, new, 1)

    TABLE.sql(
        "A1.c-" + name,
        "%s of the receipt at 99 edited" % name,
        changed(99, swapped),
        tampered("SIG", at=99),
    )
TABLE.sql(
    "A1.d",
    "the signer's key of 100 is another enrolled one",
    changed(
        100, lambda data: data.replace(forger.ALICE.public.encode(), forger.BOB.public.encode())
    ),
    tampered("SIG", at=100),
)
TABLE.sql(
    "A1.e",
    "the event bytes of 100 and 96 change places",
    unguarded(
        lambda sql: [
            (put(sql, 100, two), put(sql, 96, one))
            for one, two in [(record(sql, 100), record(sql, 96))]
        ]
    ),
    tampered("SEQ", at=96),
)
TABLE.sql(
    "A1.f",
    "the signature of 100 over the event bytes of 101",
    unguarded(lambda sql: put(sql, 100, record(sql, 100)[:64] + record(sql, 101)[64:])),
    tampered("SEQ", at=100),
)
TABLE.sql(
    "A1.g",
    "two events edited: both are told, the first leads",
    unguarded(lambda sql: [put(sql, seq, flip(10)(record(sql, seq))) for seq in (120, 60)]),
    tampered("SIG", at=60),
)

# A2: no hash is stored; prev is what stands for it.
for number, seq in enumerate((1, 100, LAST)):

    def other_prev(data):
        at = data.index(b'"prev":"') + 8
        return data[:at] + (b"f" if data[at : at + 1] != b"f" else b"0") + data[at + 1 :]

    TABLE.sql(
        "A2.%s" % "abc"[number],
        "prev of %d edited" % seq,
        changed(seq, other_prev),
        tampered("CHAIN", at=seq),
    )

# A3: the signature is under the chain's hash.
for number, at in enumerate((0, 31, 32, 40, 63)):
    for mask in (0x01, 0x80) if at != 63 else (0x01, 0x10):
        TABLE.sql(
            "A3.%s%x" % ("abcde"[number], mask),
            "signature byte %d of 100 ^ %#x" % (at, mask),
            changed(100, flip(at, mask)),
            tampered("SIG", at=100),
        )
TABLE.sql(
    "A3.f",
    "signature of 99 on 100",
    unguarded(lambda sql: put(sql, 100, record(sql, 99)[:64] + record(sql, 100)[64:])),
    tampered("SIG", at=100),
)


def rechained(seq, last=None):
    """Event `seq` edited, and every prev after it made right; the old signatures stand."""

    def judge(world):
        made = ledger()
        stop = made.count if last is None else last
        for at in range(seq, stop):
            event = dict(
                made.events[at], prev=forger.leaf(made.records[at - 1]) if at else forger.NO_LEAF
            )
            if at == seq:
                event["time"] = event["time"].replace("2026", "2025")
            made.records[at] = made.records[at][:64] + forger.canonical(event)
        made.save(world.file)
        rejected(world, world.file, tampered("SIG", at=seq))

    return judge


TABLE.add("A5.a", "100 edited and 101.. re-chained with old signatures", rechained(100))
TABLE.add("A5.b", "0 edited and all re-chained with old signatures", rechained(0))
TABLE.add("A5.c", "the last one edited", rechained(LAST))

# A6, A7: rows that are not there.
for number, seq in enumerate((0, 1, 100, LAST - 1)):
    TABLE.sql(
        "A6.%s" % "abcd"[number],
        "DELETE seq=%d" % seq,
        unguarded("DELETE FROM event WHERE seq=%d" % seq),
        tampered("SEQ", at=seq),
    )
TABLE.sql(
    "A6.e",
    "DELETE 100..120",
    unguarded("DELETE FROM event WHERE seq BETWEEN 100 AND 120"),
    tampered("SEQ", at=100),
)
TABLE.sql(
    "A6.f",
    "DELETE every second one",
    unguarded("DELETE FROM event WHERE seq % 2"),
    tampered("SEQ", at=1),
)


def renumbered(seq):
    return unguarded(
        "DELETE FROM event WHERE seq=%d" % seq,
        "UPDATE event SET seq=-seq WHERE seq>%d" % seq,
        "UPDATE event SET seq=-seq-1 WHERE seq<0",
    )


for number, seq in enumerate((1, 100, LAST - 1)):
    TABLE.sql(
        "A7.%s" % "abc"[number],
        "delete %d and renumber" % seq,
        renumbered(seq),
        tampered("SEQ", at=seq),
    )
TABLE.sql("A7.d", "delete 0 and renumber", renumbered(0), tampered("SEQ", "GENESIS", at=0))
TABLE.sql(
    "A7.e",
    "rows 100 and 101 change seqs",
    unguarded(
        "UPDATE event SET seq=-1 WHERE seq=100",
        "UPDATE event SET seq=100 WHERE seq=101",
        "UPDATE event SET seq=101 WHERE seq=-1",
    ),
    tampered("SEQ", at=100),
)
TABLE.sql(
    "A7.f",
    "all seqs up by one",
    unguarded("UPDATE event SET seq=-seq-2", "UPDATE event SET seq=-seq-1"),
    tampered("SEQ", at=0),
)

# A8 kind: seqs below zero.
TABLE.sql(
    "A8.a",
    "seq -1 with the bytes of 0",
    unguarded("INSERT INTO event SELECT -1, record FROM event WHERE seq=0"),
    tampered("SEQ", "STORAGE"),
)
TABLE.sql(
    "A8.b",
    "seq -2^63",
    unguarded("INSERT INTO event SELECT -9223372036854775807-1, record FROM event WHERE seq=0"),
    tampered("SEQ", "STORAGE"),
)

# A9, A10: rows that are too many.
for number, seq in enumerate((0, 50, LAST)):
    TABLE.sql(
        "A9.%s" % "abc"[number],
        "the bytes of %d again at the end" % seq,
        unguarded("INSERT INTO event SELECT %d, record FROM event WHERE seq=%d" % (COUNT, seq)),
        tampered("SEQ", at=COUNT),
    )
TABLE.sql(
    "A9.d",
    "50 again at the end, with the guards on",
    "INSERT INTO event SELECT %d, record FROM event WHERE seq=50" % COUNT,
    tampered("SEQ", at=COUNT),
)
TABLE.sql(
    "A9.e",
    "every event twice",
    unguarded("INSERT INTO event SELECT seq + %d, record FROM event" % COUNT),
    tampered("SEQ", at=COUNT),
)


def unsigned(made, signature):
    event = made.event(
        "session.opened", {"agent": "x", "inherits": [], "scope": forger.SCOPE}, forger.BOB
    )
    made.put(event, forger.canonical(event), signature)


for number, (name, signature) in enumerate(
    {
        "zeroes": bytes(64),
        "ff": b"\xff" * 64,
        "identity": b"\x01" + bytes(63),
        "the last one's": None,
    }.items()
):

    def forge(made, signature=signature):
        unsigned(made, signature or made.records[-1][:64])

    TABLE.forged(
        "A10.%s" % "abcd"[number],
        "event without a signature: " + name,
        forge,
        tampered("SIG", at=COUNT),
    )
TABLE.sql(
    "A10.e",
    "a row of rubbish at the end",
    unguarded("INSERT INTO event VALUES(%d, randomblob(300))" % COUNT),
    tampered("ENCODING", at=COUNT),
)
TABLE.sql(
    "A10.f",
    "rubbish in place of 100",
    unguarded("UPDATE event SET record=randomblob(300) WHERE seq=100"),
    tampered("ENCODING", at=100),
)


def far(seq, signed):
    """A row far away: told, and the next append fails cleanly rather than taking a random row."""

    def judge(world):
        made = ledger()
        if signed:
            event = made.event(
                "session.opened",
                {"agent": "x", "inherits": [], "scope": forger.SCOPE},
                forger.BOB,
                seq=min(seq, 2**53 - 1),
            )
            data = forger.canonical(event)
            blob = forger.BOB.sign(data) + data
        else:
            blob = made.records[-1]
        made.save(world.file)
        edit(world.file, unguarded(lambda sql: sql("INSERT INTO event VALUES(?,?)", (seq, blob))))
        told = world.verify(world.file)
        hold(told, Expect({"tampered"}, faults=classes("SEQ"), events=COUNT))
        demand(told.document["faults"][0]["seq"] in (COUNT, seq), "another seq", told)
        readers(world, world.file, forger.ROOT)
        refuses_to_write(world, world.file)

    return judge


for number, seq in enumerate((COUNT + 1, 2**32, 2**53 - 1, 2**53, MAX)):
    for letter, signed in (("a", False), ("b", True)):
        TABLE.add(
            "A11.%d%s" % (number, letter),
            "seq %d, %s" % (seq, "signed" if signed else "not signed"),
            far(seq, signed),
        )

# A13, A14: past the guards, and with the guards gone.


@TABLE.case("A13.a", "REPLACE INTO event at 100, with the guards on")
def replaced(world):
    """Where the guards stop it the file must be the good one; else it is told."""
    import sqlite3

    path = good(world)
    try:
        edit(path, "REPLACE INTO event SELECT 100, record FROM event WHERE seq=99")
    except sqlite3.Error:
        accepted(world, path, COUNT)
        return
    rejected(world, path, tampered("SEQ", at=100))


TABLE.sql(
    "A13.b",
    "INSERT OR REPLACE of an edited 100, guards dropped",
    unguarded(
        lambda sql: sql(
            "INSERT OR REPLACE INTO event VALUES(100, ?)", (flip(200)(record(sql, 100)),)
        )
    ),
    tampered("SIG", "ENCODING", at=100),
)
for number, name in enumerate(
    (
        "event_only_next",
        "event_no_update",
        "event_no_delete",
        "capture_no_update",
        "capture_only_once",
    )
):
    TABLE.sql(
        "A14.%s" % "abcde"[number],
        "DROP TRIGGER %s" % name,
        "DROP TRIGGER " + name,
        tampered("SCHEMA"),
    )
TABLE.sql(
    "A14.f",
    "the guards dropped, then UPDATE of 100",
    lambda sql: [
        [
            sql("DROP TRIGGER " + name)
            for (name,) in sql("SELECT name FROM sqlite_schema WHERE type='trigger'").fetchall()
        ],
        put(sql, 100, flip(10)(record(sql, 100))),
    ],
    Expect({"tampered"}, faults=classes("SCHEMA", "CHAIN")),
)

# A15: records of other lengths and types.
for number, length in enumerate((1, 32, 63, 64)):
    TABLE.sql(
        "A15.a%d" % number,
        "the record at 100 cut to %d bytes" % length,
        changed(100, lambda data, length=length: data[:length]),
        tampered("LIMIT", at=100),
    )
TABLE.sql(
    "A15.b",
    "the record at 100 cut to 65 bytes",
    changed(100, lambda data: data[:65]),
    tampered("ENCODING", at=100),
)
TABLE.sql(
    "A15.c",
    "an empty record at 100",
    changed(100, lambda data: b""),
    Expect({"tampered"}, faults=classes("LIMIT", "STORAGE")),
)
TABLE.sql(
    "A15.d",
    "signature of 100 one byte short",
    changed(100, lambda data: data[1:]),
    tampered("ENCODING", at=100),
)
TABLE.sql(
    "A15.e",
    "signature of 100 one byte long",
    changed(100, lambda data: b"x" + data),
    tampered("ENCODING", at=100),
)
TABLE.sql(
    "A15.f",
    "no signature at 100",
    changed(100, lambda data: data[64:]),
    tampered("ENCODING", at=100),
)
TABLE.sql(
    "A15.g",
    "record of 65,536 bytes at 100",
    changed(100, lambda data: data + b" " * (65536 - len(data))),
    Expect({"tampered"}, faults=classes("LIMIT", "STORAGE")),
)
TABLE.sql(
    "A15.h",
    "a record of text at 100",
    unguarded(
        "PRAGMA writable_schema=ON",
        "UPDATE sqlite_schema SET sql=replace(sql,'STRICT','') WHERE name='event'",
    ),
    tampered("SCHEMA"),
)
TABLE.sql(
    "A15.i",
    "bytes after the event at 100",
    changed(100, lambda data: data + b" "),
    tampered("ENCODING", at=100),
)
TABLE.sql(
    "A15.j",
    "a NUL after the event at 100",
    changed(100, lambda data: data + b"\0"),
    tampered("ENCODING", at=100),
)

# A17: what rewrites the file and leaves the rows is no fault.
HEAD = ledger().head_line()
for number, statements in enumerate(
    (
        ["VACUUM"],
        ["REINDEX"],
        ["ANALYZE", "DROP TABLE IF EXISTS sqlite_stat1"],
        ["PRAGMA incremental_vacuum"],
        ["PRAGMA page_size=4096", "VACUUM"],
        ["PRAGMA page_size=512", "VACUUM"],
        ["PRAGMA page_size=65536", "VACUUM"],
    )
):

    def vacuumed(world, statements=statements):
        path = good(world)
        edit(path, statements)
        accepted(world, path, COUNT, head=HEAD)

    TABLE.add("A17.%s" % "abcdefg"[number], "; ".join(statements), vacuumed)

# A18: the one table beside the chain holds what receipts commit to. A fault in it leaves the chain
# as it is (section 12), so that appending, which cites no capture, is not held up by it.
TABLE.sql(
    "A18.a",
    "captured bytes edited",
    unguarded("UPDATE capture SET bytes=x'350a'"),
    tampered("CAPTURE", events=COUNT),
    write=False,
)
TABLE.sql(
    "A18.b",
    "the salt edited",
    unguarded("UPDATE capture SET salt=zeroblob(16)"),
    tampered("CAPTURE", events=COUNT),
    write=False,
)
TABLE.sql(
    "A18.c",
    "captured bytes longer by a NUL",
    unguarded("UPDATE capture SET bytes=x'340a00'"),
    tampered("CAPTURE", events=COUNT),
    write=False,
)
TABLE.sql(
    "A18.d",
    "captured bytes emptied",
    unguarded("UPDATE capture SET bytes=x''"),
    tampered("CAPTURE", events=COUNT),
    write=False,
)
TABLE.sql(
    "A18.e",
    "captured bytes moved to another commitment that no receipt has",
    unguarded("UPDATE capture SET commitment=zeroblob(32)"),
    None,
)


@TABLE.case("A18.f", "captures deleted without an event: told as not proven, never as if kept")
def deleted(world):
    path = good(world)
    edit(path, unguarded("DELETE FROM capture"))
    told = accepted(world, path, COUNT)
    demand(
        any(
            "erase" in one or "kept" in one or "missing" in one or "printed" in one
            for one in told.document["not_proven"]
        ),
        "it is not told",
        told,
    )


TABLE.sql(
    "A18.g",
    "a capture that nobody committed to, 60 KB of it",
    unguarded("INSERT INTO capture VALUES(randomblob(32), zeroblob(16), randomblob(60000))"),
    None,
)
TABLE.sql(
    "A18.h",
    "a capture's bytes as NULL: the salt alone is kept",
    unguarded("UPDATE capture SET bytes=NULL"),
    None,
)
TABLE.sql(
    "A18.i",
    "a capture with a salt of 15 bytes",
    unguarded("UPDATE capture SET salt=zeroblob(15)"),
    Expect({"tampered"}, faults=classes("CAPTURE", "STORAGE")),
    write=False,
)
TABLE.sql(
    "A18.j",
    "captured bytes over the limit",
    unguarded("UPDATE capture SET bytes=zeroblob(70000)"),
    Expect({"tampered"}, faults=classes("CAPTURE", "STORAGE")),
    write=False,
)
for at, (what, row) in enumerate(
    (
        ("a commitment of 31 bytes", "zeroblob(31), zeroblob(16), x'00'"),
        ("a commitment of 33 bytes", "zeroblob(33), zeroblob(16), x'00'"),
        ("no commitment", "x'', zeroblob(16), x'00'"),
        ("a salt of 17 bytes", "zeroblob(32), zeroblob(17), x'00'"),
        ("bytes one over the limit", "zeroblob(32), zeroblob(16), zeroblob(65537)"),
    )
):
    TABLE.sql(
        "A18.k%d" % at,
        "a capture that nobody committed to, with %s" % what,
        unguarded("INSERT INTO capture VALUES(%s)" % row),
        Expect({"tampered"}, faults=classes("STORAGE")),
        write=False,
    )


@TABLE.case("A18.l", "a value of a capture of 100 MB: told by its length, never read")
def large_capture(world):
    rows = (
        "zeroblob(32), zeroblob(16), zeroblob(100000000)",
        "zeroblob(32), zeroblob(100000000), x'00'",
        "zeroblob(100000000), zeroblob(16), x'00'",
    )
    for row in rows:
        path = good(world)
        edit(path, unguarded("INSERT INTO capture VALUES(%s)" % row))
        told = world.verify(path)
        hold(told, Expect({"tampered"}, faults=classes("STORAGE")))
        demand(told.document["events"] == COUNT, "the chain is not whole", told)
        demand(told.memory < 80 << 20, "%d MB" % (told.memory >> 20), told)
        ran = world.json(
            "--ledger", path, "--trust", forger.ROOT.public, "export", "--captures", "-o", "x"
        )
        demand(ran.code == 4, "exported", ran)
        demand(ran.memory < 80 << 20, "%d MB for an export" % (ran.memory >> 20), ran)
        path.unlink()
