"""F: the schema, and the pages beneath it."""

import os
import random
import re
import sqlite3
import struct
import tempfile

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
    patience,
    readers,
    refuses_to_write,
    rejected,
    snapshot,
    tampered,
    unguarded,
)

TABLE = Table("F")
FULL = ledger()
COUNT = FULL.count
SCHEMA = tampered("SCHEMA")
DAMAGED = Expect(
    {"tampered", "error"},
    faults=classes("SCHEMA", "STORAGE", "SEQ", "LIMIT", "ENCODING", "SIG", "CHAIN"),
    codes=classes("NOT_A_LEDGER", "VERSION") | {"storage", "schema"},
)
NEITHER = Expect(
    {"tampered", "error"},
    faults=classes("SCHEMA", "STORAGE"),
    codes=classes("NOT_A_LEDGER", "VERSION") | {"storage", "schema"},
)


def rewritten(name, old, new):
    """The text of an object in the schema replaced, as writable_schema lets one."""
    return [
        "UPDATE sqlite_schema SET sql=replace(sql,'%s','%s') WHERE name='%s'"
        % (old.replace("'", "''"), new.replace("'", "''"), name)
    ]


def unguarded_statements(statement):
    """One statement with the guards away for its time, as a list of statements."""
    text = forger.SCHEMA_SQL
    names = re.findall(r"CREATE TRIGGER (\w+)", text)
    again = re.findall(r"CREATE TRIGGER .*?END(?=;)", text, re.S)
    return ["DROP TRIGGER " + name for name in names] + [statement] + again


# --- F1: guards gone, weakened, added ---
GUARDS = (
    "event_only_next",
    "event_no_update",
    "event_no_delete",
    "capture_no_update",
    "capture_only_once",
)
for at, name in enumerate(GUARDS):
    TABLE.sql("F1.a%d" % at, "without %s" % name, "DROP TRIGGER " + name, SCHEMA)
    TABLE.sql(
        "F1.b%d" % at,
        "%s raises nothing" % name,
        rewritten(name, "RAISE(ABORT,", "coalesce(1,"),
        SCHEMA,
    )
    TABLE.sql(
        "F1.c%d" % at,
        "%s never applies" % name,
        [
            "UPDATE sqlite_schema SET sql=replace(sql,'BEGIN SELECT','WHEN 0 BEGIN SELECT') "
            "WHERE name='%s' AND sql NOT LIKE '%%WHEN%%'" % name,
            "UPDATE sqlite_schema SET sql=replace(sql,'WHEN ','WHEN 0 AND ') WHERE name='%s'"
            % name,
        ],
        SCHEMA,
    )
TABLE.sql("F1.e", "all guards gone", ["DROP TRIGGER " + name for name in GUARDS], SCHEMA)
TRIGGERS = {
    "delete": "CREATE TRIGGER x AFTER INSERT ON event BEGIN DELETE FROM event WHERE seq<5; END",
    "ignore": "CREATE TRIGGER x BEFORE INSERT ON event BEGIN SELECT RAISE(IGNORE); END",
    "rewrite": "CREATE TRIGGER x AFTER INSERT ON event BEGIN UPDATE event SET record=x'00'; END",
    "capture": "CREATE TRIGGER x AFTER INSERT ON capture BEGIN SELECT 1; END",
    "endless": "CREATE TRIGGER x AFTER INSERT ON event BEGIN SELECT * FROM (WITH RECURSIVE r(n) AS "
    "(SELECT 1 UNION ALL SELECT n+1 FROM r) SELECT n FROM r); END",
    "upper": "CREATE TRIGGER EVENT_NO_UPDATE2 BEFORE UPDATE ON event BEGIN SELECT 1; END",
}
for name, sql in TRIGGERS.items():
    TABLE.sql("F1.f-" + name, "one trigger more: " + name, sql, SCHEMA)

# --- F2, F3: views in the place of tables ---
VIEW = (
    "CREATE VIEW event AS SELECT seq, CASE seq WHEN 100 THEN x'00' ELSE record END AS record "
    "FROM real"
)
ALTERED = (
    ["PRAGMA legacy_alter_table=ON"]
    + ["DROP TRIGGER " + name for name in GUARDS]
    + ["ALTER TABLE event RENAME TO real"]
)
TABLE.sql("F2.a", "event renamed, a view with CASE in its place", ALTERED + [VIEW], SCHEMA)
TABLE.sql(
    "F2.b",
    "and an INSTEAD OF trigger",
    ALTERED
    + [
        VIEW,
        "CREATE TRIGGER t INSTEAD OF INSERT ON event BEGIN INSERT INTO real VALUES(NEW.seq,"
        "NEW.record); END",
    ],
    SCHEMA,
)
TABLE.sql("F2.c", "event renamed", ALTERED, SCHEMA)
TABLE.sql("F2.d", "a view beside the tables", "CREATE VIEW v AS SELECT * FROM event", SCHEMA)
TABLE.sql(
    "F2.e",
    "capture replaced by a view",
    [
        "DROP TRIGGER capture_no_update",
        "DROP TRIGGER capture_only_once",
        "DROP TABLE capture",
        "CREATE VIEW capture AS SELECT x'00' AS commitment, x'00' AS salt, x'00' AS bytes",
    ],
    SCHEMA,
)
TABLE.sql(
    "F2.f",
    "event's type in the schema says view",
    ["UPDATE sqlite_schema SET type='view' WHERE name='event'"],
    NEITHER,
)
ENDLESS = (
    "CREATE VIEW event AS WITH RECURSIVE r(n) AS (SELECT 0 UNION ALL SELECT n+1 FROM r) "
    "SELECT n AS seq, zeroblob(65535) AS record FROM r"
)
for at, view in enumerate(
    (
        ENDLESS,
        ENDLESS.replace("n+1", "n"),
        ENDLESS.replace("zeroblob(65535)", "randomblob(1000000000)"),
    )
):

    def endless(world, view=view):
        path = good(world)
        edit(path, ALTERED + [view])
        told = rejected(world, path, SCHEMA)
        demand(told.seconds < patience(5), "%.1f s for a view that is never asked" % told.seconds)

    TABLE.add("F3.%s" % "abc"[at], "event as an endless view", endless)
TABLE.sql(
    "F3.d",
    "a default that is never to be computed",
    ["CREATE TABLE x(a DEFAULT (randomblob(1000000000)))"],
    SCHEMA,
)
TABLE.sql(
    "F3.e", "an endless view beside the tables", ENDLESS.replace("VIEW event", "VIEW w"), SCHEMA
)

# --- F4: other objects ---
OBJECTS = {
    "table": "CREATE TABLE x(a)",
    "strict table": "CREATE TABLE x(a INTEGER) STRICT",
    "index": "CREATE INDEX x ON event(record)",
    "partial index": "CREATE INDEX x ON event(seq) WHERE seq=5",
    "expression index": "CREATE INDEX x ON event(length(record))",
    "statistics": "ANALYZE",
    "autoincrement": "CREATE TABLE x(a INTEGER PRIMARY KEY AUTOINCREMENT)",
    "unique index": "CREATE UNIQUE INDEX x ON event(record)",
    "capture index": "CREATE INDEX x ON capture(salt)",
    "Event in other case": 'CREATE TABLE "event "(seq, record)',
    "generated": "CREATE TABLE x(a, b AS (a + 1))",
}
for name, sql in OBJECTS.items():
    TABLE.sql("F4.%s" % name.replace(" ", "-"), "one object more: " + name, sql, SCHEMA)

# What is no row of a released schema is an altered schema, whatever of it SQLite looks at.
ROWS = {
    "a trigger with a root page": "UPDATE sqlite_schema SET rootpage=2 WHERE type='trigger'",
    "a trigger with page 1": "UPDATE sqlite_schema SET rootpage=1 WHERE name='event_no_update'",
    "a trigger with no page": "UPDATE sqlite_schema SET rootpage=NULL WHERE type='trigger'",
    "a trigger with page -1": "UPDATE sqlite_schema SET rootpage=-1 WHERE name='event_no_update'",
    "a table on page 0": "UPDATE sqlite_schema SET rootpage=0 WHERE name='capture'",
    "a root page as text": "UPDATE sqlite_schema SET rootpage='x' WHERE name='capture'",
    "a row of nulls": "INSERT INTO sqlite_schema VALUES(NULL,NULL,NULL,NULL,NULL)",
    "a text as a blob": "UPDATE sqlite_schema SET sql=CAST(sql AS BLOB) "
    "WHERE name='event_no_update'",
    "a type as a blob": "UPDATE sqlite_schema SET type=CAST(type AS BLOB) WHERE type='trigger'",
    "an index that SQLite makes": "INSERT INTO sqlite_schema "
    "VALUES('index','sqlite_autoindex_event_1','event',2,NULL)",
    "a table beyond the end": "UPDATE sqlite_schema SET rootpage=9999 WHERE name='event'",
}
for at, (what, sql) in enumerate(ROWS.items()):
    TABLE.sql("F4.row%02d" % at, "in the schema " + what, [sql], SCHEMA)

# --- F5: types ---
LOOSE = ["UPDATE sqlite_schema SET sql=replace(sql,' STRICT','') WHERE name='event'"]
for at, value in enumerate(("'text'", "1.5", "NULL", "5", "zeroblob(10)")):
    TABLE.sql(
        "F5.a%d" % at,
        "STRICT removed, %s as a record" % value,
        unguarded(
            LOOSE[0],
            "PRAGMA writable_schema=RESET",
            "UPDATE event SET record=%s WHERE seq=100" % value,
        )
        if value != "NULL"
        else unguarded(LOOSE[0]),
        SCHEMA,
    )


def typed(path, value):
    """A record of another type, the released schema standing: the type lies in the row alone."""
    edit(
        path,
        unguarded(
            "UPDATE sqlite_schema SET sql=replace(replace(sql,' STRICT',''),'NOT NULL','') "
            "WHERE name='event'"
        ),
    )
    edit(path, unguarded("UPDATE event SET record=%s WHERE seq=100" % value))
    restored = sqlite3.connect(path, isolation_level=None)
    restored.execute("PRAGMA writable_schema=ON")
    text = forger.SCHEMA_SQL
    start = text.index("CREATE TABLE event")
    restored.execute(
        "UPDATE sqlite_schema SET sql=? WHERE name='event'", (text[start : text.index(";", start)],)
    )
    restored.close()


for at, (what, value) in enumerate(
    (
        (
            "text",
            "'text of some length, as long as a record is, so "
            "that its length is no fault: 0123456789'",
        ),
        ("a real", "1.5"),
        ("NULL", "NULL"),
        ("an integer", "5"),
        ("text that is the record's bytes", "CAST(record AS TEXT)"),
    )
):

    def another_type(world, value=value):
        typed(good(world), value)
        rejected(
            world, world.file, Expect({"tampered"}, faults=classes("STORAGE", "ENCODING", "LIMIT"))
        )

    TABLE.add("F5.b%d" % at, "the schema as released, and %s as record 100" % what, another_type)

# --- F6: indices that disagree ---
TABLE.sql(
    "F6.a",
    "an index that was taken out of the schema while rows changed",
    unguarded(
        "CREATE INDEX x ON event(record)",
        lambda sql: sql("UPDATE sqlite_schema SET type='stash', name='stash' WHERE name='x'"),
    ),
    NEITHER,
)


def stale_capture(world):
    """`capture` is its own index; a row moved within it is what a stale index would be."""
    path = good(world)
    data = bytearray(path.read_bytes())
    commitment = bytes.fromhex(forger.OUTPUT["commitment"])
    at = data.index(commitment, data.index(b"sixteen bytes ok") - 40)
    data[at] ^= 1
    path.write_bytes(data)
    told = world.verify(path)
    demand(told.document["result"] in ("verified", "tampered"), "another result", told)
    if told.code == 0:
        demand(
            any(
                "kept" in one or "missing" in one or "printed" in one or "erase" in one
                for one in told.document["not_proven"]
            ),
            "a lost capture is not told",
            told,
        )


TABLE.add("F6.b", "a capture's key changed in its page", stale_capture)

# --- F7: definitions that mean something else ---
MEANINGS = {
    "NOCASE": ("event", "record BLOB", "record BLOB COLLATE NOCASE"),
    "WITHOUT ROWID": ("event", ") STRICT", ") STRICT, WITHOUT ROWID"),
    "DESC": ("event", "PRIMARY KEY", "PRIMARY KEY DESC"),
    "AUTOINCREMENT": ("event", "PRIMARY KEY", "PRIMARY KEY AUTOINCREMENT"),
    "extra column": ("event", "record BLOB NOT NULL", "extra BLOB, record BLOB NOT NULL"),
    "generated column": ("event", "CHECK (length(record)", "AS (x'00') CHECK (length(record)"),
    "random check": ("event", "65535)", "65535 AND random() IS NOT NULL)"),
    "dear check": ("event", "65535)", "65535 AND length(randomblob(100000000)) > 0)"),
    "wider check": ("event", "65535", "65536"),
    "upper case": ("event", "CREATE TABLE event", "CREATE TABLE EVENT"),
    "quoted": ("event", "CREATE TABLE event", 'CREATE TABLE "event"'),
    "comment": ("event", "STRICT", "/* x */ STRICT"),
    "comment at the end": ("event", "STRICT", "STRICT -- x"),
    "a space": ("event", "event (", "event  ("),
    "a tab": ("event", "    seq", "\tseq"),
    "a newline": ("event", "STRICT", "STRICT\n"),
    "INT": ("event", "seq    INTEGER", "seq    INT"),
    "ANY": ("event", "record BLOB", "record ANY"),
    "default": ("event", "record BLOB NOT NULL", "record BLOB NOT NULL DEFAULT x'00'"),
    "conflict": ("event", "PRIMARY KEY", "PRIMARY KEY ON CONFLICT REPLACE"),
    "foreign key": ("event", "record BLOB NOT NULL", "record BLOB NOT NULL REFERENCES capture"),
    "capture NOCASE": ("capture", "commitment BLOB", "commitment BLOB COLLATE NOCASE"),
    "capture wider": ("capture", "65536", "65537"),
    "if not exists": ("event", "CREATE TABLE event", "CREATE TABLE IF NOT EXISTS event"),
    "temp": ("event", "CREATE TABLE", "CREATE TEMP TABLE"),
    "another word": ("event", "STRICT", "STRICT, STRICT"),
}
for at, (what, (table, old, new)) in enumerate(MEANINGS.items()):
    TABLE.sql("F7.%02d" % at, "%s: %s" % (table, what), rewritten(table, old, new), NEITHER)
TABLE.sql(
    "F7.name",
    "the schema's name of event is EVENT",
    ["UPDATE sqlite_schema SET name='EVENT', tbl_name='EVENT' WHERE name='event'"],
    NEITHER,
)
TABLE.sql(
    "F7.tbl",
    "a trigger of another table",
    ["UPDATE sqlite_schema SET tbl_name='capture' WHERE name='event_no_update'"],
    NEITHER,
)
TABLE.sql(
    "F7.null",
    "event's SQL is NULL",
    ["UPDATE sqlite_schema SET sql=NULL WHERE name='event'"],
    NEITHER,
)
TABLE.sql(
    "F7.blob",
    "event's SQL is a blob",
    ["UPDATE sqlite_schema SET sql=CAST(sql AS BLOB) WHERE name='event'"],
    NEITHER,
)
TABLE.sql(
    "F7.twice",
    "event stands twice in the schema",
    ["INSERT INTO sqlite_schema SELECT * FROM sqlite_schema WHERE name='event'"],
    NEITHER,
)
TABLE.sql("F7.none", "an empty schema", ["DELETE FROM sqlite_schema"], NEITHER)
TABLE.sql(
    "F7.order",
    "the schema's rows in another order: the same objects",
    ["UPDATE sqlite_schema SET rowid=rowid+100 WHERE name='event_no_update'"],
    None,
)

# --- F9: virtual tables ---
MODULES = {
    "fts5": ("CREATE VIRTUAL TABLE f USING fts5(a)", "UPDATE f_data SET block=randomblob(40)"),
    "rtree": (
        "CREATE VIRTUAL TABLE f USING rtree(id, a, b)",
        "UPDATE f_node SET data=randomblob(40)",
    ),
    "fts3": ("CREATE VIRTUAL TABLE f USING fts3(a)", "UPDATE f_segdir SET root=randomblob(40)"),
}
FORGED = {
    "unknown module": "CREATE VIRTUAL TABLE f USING evil(a)",
    "dbstat": "CREATE VIRTUAL TABLE f USING dbstat",
    "csv": "CREATE VIRTUAL TABLE f USING csv(filename='/etc/passwd')",
    "zipfile": "CREATE VIRTUAL TABLE f USING zipfile('/etc/passwd')",
    "event itself": "CREATE VIRTUAL TABLE event USING fts5(seq, record)",
    "generate_series": "CREATE VIRTUAL TABLE f USING generate_series",
}
for name, (sql, shadow) in MODULES.items():

    def virtual(world, sql=sql, shadow=shadow):
        path = good(world)
        try:
            edit(path, [sql, shadow])
        except sqlite3.Error:
            # This Python's SQLite lacks the module: the row of the schema is forged instead.
            edit(path, ["INSERT INTO sqlite_schema VALUES('table','f','f',0,'%s')" % sql])
        rejected(world, path, NEITHER)

    TABLE.add("F9.a-" + name, "a virtual table with corrupt shadow tables: " + name, virtual)
for name, sql in FORGED.items():
    TABLE.sql(
        "F9.b-" + name.replace(" ", "-"),
        "a virtual table in the schema: " + name,
        ["INSERT INTO sqlite_schema VALUES('table','f','f',0,'%s')" % sql.replace("'", "''")],
        NEITHER,
    )


# --- F10: much schema ---
def many_rows(world, count):
    path = good(world)

    def fill(sql):
        sql("BEGIN")
        for number in range(count):
            sql(
                "INSERT INTO sqlite_schema VALUES('view','v%d','v%d',0,'CREATE VIEW v%d AS "
                "SELECT 1')" % (number, number, number)
            )
        sql("COMMIT")

    edit(path, fill)
    told = world.verify(path)
    hold(told, NEITHER)
    demand(told.seconds < patience(5), "%.1f s" % told.seconds)
    refuses_to_write(world, path)


TABLE.add("F10.a", "20,000 rows of schema", lambda world: many_rows(world, 20000))
TABLE.add("F10.b", "200,000 rows of schema", lambda world: many_rows(world, 200000), slow=True)


def long_text(world, size, kind):
    path = good(world)
    text = {
        "table": "CREATE TABLE z(a) --" + "x" * size,
        "columns": "CREATE TABLE z(" + ",".join("c%d" % n for n in range(size // 8)) + ")",
        "parentheses": "CREATE VIEW z AS SELECT " + "(" * size + "1" + ")" * size,
    }[kind]
    edit(
        path,
        lambda sql: sql(
            "INSERT INTO sqlite_schema VALUES(?,'z','z',0,?)",
            ("view" if kind == "parentheses" else "table", text),
        ),
    )
    told = world.verify(path)
    hold(told, NEITHER)
    demand(told.seconds < patience(5), "%.1f s" % told.seconds)
    refuses_to_write(world, path)


TABLE.add("F10.c", "5 MB of SQL", lambda world: long_text(world, 5 << 20, "table"))
TABLE.add("F10.d", "50 MB of SQL", lambda world: long_text(world, 50 << 20, "table"), slow=True)
TABLE.add("F10.e", "100,000 columns", lambda world: long_text(world, 800000, "columns"))
TABLE.add("F10.f", "100,000 parentheses", lambda world: long_text(world, 100000, "parentheses"))

# --- F11: the header ---
HEADER = {
    "application id 0": (68, b"\0\0\0\0"),
    "application id of another": (68, b"GPKG"),
    "application id one bit off": (68, b"hndg"),
    "user version 0": (60, struct.pack(">I", 0)),
    "user version 2": (60, struct.pack(">I", 2)),
    "user version 2^31-1": (60, struct.pack(">I", 2**31 - 1)),
    "user version -1": (60, b"\xff" * 4),
    "UTF-16le": (56, struct.pack(">I", 2)),
    "UTF-16be": (56, struct.pack(">I", 3)),
    "encoding 0": (56, struct.pack(">I", 0)),
    "encoding 4": (56, struct.pack(">I", 4)),
    "page size 512": (16, struct.pack(">H", 512)),
    "page size 4096": (16, struct.pack(">H", 4096)),
    "page size 65536": (16, struct.pack(">H", 1)),
    "page size 0": (16, struct.pack(">H", 0)),
    "page size 3": (16, struct.pack(">H", 3)),
    "page size 16383": (16, struct.pack(">H", 16383)),
    "reserved bytes 8": (20, b"\x08"),
    "reserved bytes 255": (20, b"\xff"),
    "WAL": (18, b"\x02\x02"),
    "versions 3, 3": (18, b"\x03\x03"),
    "versions 1, 3": (18, b"\x01\x03"),
    "versions 1, 2": (18, b"\x01\x02"),
    "versions 2, 1": (18, b"\x02\x01"),
    "versions 0, 0": (18, b"\x00\x00"),
    "magic": (0, b"SQLite format 2\0"),
    "magic without its NUL": (0, b"SQLite format 3 "),
    "payload fractions": (21, b"\x41\x20\x20"),
    "pages 0": (28, struct.pack(">I", 0)),
    "pages one less": (28, None),
    "pages 2^32-1": (28, b"\xff" * 4),
    "freelist of nothing": (32, struct.pack(">I", 3)),
    "freelist count": (36, struct.pack(">I", 7)),
    "freelist beyond": (32, struct.pack(">I", 99999) + struct.pack(">I", 5)),
    "schema format 9": (44, struct.pack(">I", 9)),
    "schema format 0": (44, struct.pack(">I", 0)),
    "autovacuum root": (52, struct.pack(">I", 5)),
    "incremental vacuum": (64, struct.pack(">I", 1)),
    "reserved space": (72, b"\1" * 20),
}
for at, (what, (place, value)) in enumerate(HEADER.items()):

    def header(world, place=place, value=value, what=what):
        path = good(world)
        data = bytearray(path.read_bytes())
        if value is None:
            value = struct.pack(">I", struct.unpack_from(">I", data, 28)[0] - 1)
        data[place : place + len(value)] = value
        path.write_bytes(data)
        told = world.verify(path)
        # What SQLite itself passes over, and section 13 does not name, may be anything.
        if what in ("reserved space", "schema format 0") and told.code == 0:
            accepted(world, path, COUNT, head=FULL.head_line())
            return
        demand(told.code in (4, 5), "a wrong header was accepted", told)
        hold(told, NEITHER)
        if world.long or world.sample() % 3 == 0:
            readers(world, path, forger.ROOT)
        refuses_to_write(world, path)

    TABLE.add("F11.%02d" % at, "header: " + what, header)


def other_layout(prepare, page_size=16384):
    def judge(world):
        ledger().save(world.file, page_size=page_size, prepare=prepare)
        told = world.verify(world.file)
        demand(told.document["result"] in ("verified", "tampered", "error"), "another", told)
        if told.code == 0:
            accepted(world, world.file, COUNT, head=FULL.head_line())
        else:
            hold(told, NEITHER)

    return judge


for at, prepare in enumerate(
    (
        ["PRAGMA encoding='UTF-16le'"],
        ["PRAGMA encoding='UTF-16be'"],
        ["PRAGMA auto_vacuum=FULL"],
        ["PRAGMA auto_vacuum=INCREMENTAL"],
        ["PRAGMA journal_mode=WAL"],
    )
):
    TABLE.add("F11.m%d" % at, "made with " + prepare[0], other_layout(prepare))
for size in (512, 1024, 4096, 65536):
    TABLE.add("F11.p%d" % size, "made with pages of %d" % size, other_layout([], size))

# --- F13, F14: shorter and longer ---
for size in (0, 1, 15, 16, 99, 100, 512, 4095, 4096, 16383, 16384, 16385, -1, -4096, -16384, -100):

    def shorter(world, size=size):
        path = good(world)
        length = path.stat().st_size
        os.truncate(path, size if size >= 0 else length + size)
        told = world.verify(path)
        demand(told.code in (4, 5), "a cut file was accepted", told)
        hold(told, DAMAGED)
        demand(
            told.document["result"] == "error"
            or any(one["kind"] == "storage" for one in told.document["faults"]),
            "no storage fault",
            told,
        )
        readers(world, path, forger.ROOT, count=2)
        refuses_to_write(world, path)

    TABLE.add(
        "F13.%d" % size if size >= 0 else "F13.less%d" % -size,
        "truncated to %d bytes" % size,
        shorter,
    )
for at, (what, tail) in enumerate(
    (
        ("1 byte", 1),
        ("a page", 16384),
        ("a page and a byte", 16385),
        ("1 MB", 1 << 20),
        ("500 GB, sparse", 500 << 30),
        ("16 TB, sparse", 16 << 40),
    )
):

    def longer(world, tail=tail):
        path = good(world)
        try:
            os.truncate(path, path.stat().st_size + tail)
        except OSError:
            return
        told = world.verify(path)
        demand(told.code in (4, 5), "a tail was accepted", told)
        codes = NEITHER.codes | {"too_large"}
        hold(told, Expect(NEITHER.results, faults=NEITHER.faults, codes=codes))
        refuses_to_write(world, path)

    TABLE.add("F14.%s" % "abcdef"[at], "%s of zeroes after the end" % what, longer)


def hollow(size):
    """As long as its header says, and nearly nothing of it is there."""

    def judge(world):
        path = good(world)
        with open(path, "r+b") as file:
            file.truncate(size)
            file.seek(28)
            file.write(struct.pack(">I", size // 16384))
        before = snapshot(world.evidence)
        told = world.verify(path)
        demand(told.code in (4, 5) and told.document["result"] != "verified", "accepted", told)
        if told.code == 5:
            demand(told.error["code"] == "too_large" and told.error["next"], "no next", told)
        demand(told.seconds < patience(5), "%.1f s for nothing" % told.seconds, told)
        demand(not difference(before, world.evidence), "the folder was changed")

    return judge


for at, size in enumerate((1, 4, 15, 17)):
    TABLE.add("F14.h%d" % at, "%d GB of holes, as its header says" % size, hollow(size << 30))
TABLE.bytes("F14.g", "another ledger after the end", lambda data: data + data, NEITHER)


# --- F15 to F17: pages ---
def pages(data):
    size = struct.unpack_from(">H", data, 16)[0]
    size = 65536 if size == 1 else size
    return size, len(data) // size


def page_kind(data, number):
    size, _ = pages(data)
    at = (number - 1) * size + (100 if number == 1 else 0)
    return data[at]


def leaves(data):
    """The leaf pages of tables, by number: where the events lie."""
    _, count = pages(data)
    return [number for number in range(2, count + 1) if page_kind(data, number) == 0x0D]


def interior(data):
    _, count = pages(data)
    found = [number for number in range(2, count + 1) if page_kind(data, number) == 0x05]
    demand(found, "L has no interior page")
    return found[0]


def cells(data, number):
    """Offsets of the cells of a page."""
    size, _ = pages(data)
    base = (number - 1) * size
    kind = data[base]
    count = struct.unpack_from(">H", data, base + 3)[0]
    start = base + (12 if kind in (0x02, 0x05) else 8)
    return [base + struct.unpack_from(">H", data, start + 2 * n)[0] for n in range(count)]


def swap_leaves(data):
    size, _ = pages(data)
    one, two = [(number - 1) * size for number in leaves(data)[1:3]]
    data[one : one + size], data[two : two + size] = (
        data[two : two + size],
        data[one : one + size],
    )


def two_cells_one_page(data):
    own = cells(data, interior(data))
    data[own[2] : own[2] + 4] = data[own[1] : own[1] + 4]


def cycle(data):
    root = interior(data)
    at = cells(data, root)[1]
    struct.pack_into(">I", data, at, root)


def rightmost_cycle(data):
    size, _ = pages(data)
    root = interior(data)
    struct.pack_into(">I", data, (root - 1) * size + 8, root)


def pointer_to(number):
    def change(data):
        at = cells(data, interior(data))[1]
        struct.pack_into(">I", data, at, number)

    return change


def freelist_leaf(data):
    """A leaf full of events declared free."""
    size, count = pages(data)
    data += bytes(size)
    trunk = count + 1
    struct.pack_into(">I", data, 28, trunk)
    struct.pack_into(">II", data, 32, trunk, 2)
    struct.pack_into(">III", data, count * size, 0, 1, leaves(data)[1])
    return data


def freelist_loop(data):
    size, count = pages(data)
    data += bytes(size)
    trunk = count + 1
    struct.pack_into(">I", data, 28, trunk)
    struct.pack_into(">II", data, 32, trunk, 5)
    struct.pack_into(">II", data, count * size, trunk, 0)
    return data


def varint_length(data, at):
    length = 1
    while data[at] & 0x80 and length < 9:
        at, length = at + 1, length + 1
    return length


def rowid_at(data, cell):
    return cell + varint_length(data, cell)


def swap_rowids(data):
    own = cells(data, leaves(data)[1])
    one, two = rowid_at(data, own[1]), rowid_at(data, own[2])
    length = varint_length(data, one)
    data[one : one + length], data[two : two + length] = (
        data[two : two + length],
        data[one : one + length],
    )


def same_rowid(data):
    own = cells(data, leaves(data)[1])
    one, two = rowid_at(data, own[1]), rowid_at(data, own[2])
    length = varint_length(data, one)
    data[two : two + length] = data[one : one + length]


def rowid_of_other_leaf(data):
    one = rowid_at(data, cells(data, leaves(data)[1])[1])
    two = rowid_at(data, cells(data, leaves(data)[2])[1])
    length = min(varint_length(data, one), varint_length(data, two))
    data[two : two + length] = data[one : one + length]


def swap_pointers(data):
    size, _ = pages(data)
    base = (leaves(data)[1] - 1) * size + 8
    data[base + 2 : base + 4], data[base + 4 : base + 6] = (
        data[base + 4 : base + 6],
        data[base + 2 : base + 4],
    )


def one_pointer_twice(data):
    size, _ = pages(data)
    base = (leaves(data)[1] - 1) * size + 8
    data[base + 2 : base + 4] = data[base + 4 : base + 6]


def fewer_cells(data):
    size, _ = pages(data)
    base = (leaves(data)[1] - 1) * size
    count = struct.unpack_from(">H", data, base + 3)[0]
    struct.pack_into(">H", data, base + 3, count - 2)


def more_cells(data):
    size, _ = pages(data)
    base = (leaves(data)[1] - 1) * size
    struct.pack_into(">H", data, base + 3, 4000)


def payload_of(length):
    def change(data):
        left, encoded = length >> 7, bytes([length & 0x7F])
        while left:
            encoded, left = bytes([left & 0x7F | 0x80]) + encoded, left >> 7
        cell = cells(data, leaves(data)[1])[3]
        data[cell : cell + len(encoded)] = encoded

    return change


def kind_of_leaf(kind):
    def change(data):
        size, _ = pages(data)
        data[(leaves(data)[1] - 1) * size] = kind

    return change


def zeroed(number):
    def change(data):
        size, _ = pages(data)
        at = (leaves(data)[number] - 1) * size
        data[at : at + size] = bytes(size)

    return change


def record_header(data):
    """The row's own header says that the record is text of the same length."""
    cell = cells(data, leaves(data)[1])[3]
    at = rowid_at(data, cell)
    at += varint_length(data, at)
    data[at + 1 + varint_length(data, at + 1) + varint_length(data, at + 2) - 2] |= 1


STRUCTURES = {
    "two leaves swapped": swap_leaves,
    "two cells point to one page": two_cells_one_page,
    "a page that is its own child": cycle,
    "the rightmost child is its parent": rightmost_cycle,
    "a child of page 0": pointer_to(0),
    "a child that is page 1": pointer_to(1),
    "a child beyond the file": pointer_to(99999),
    "a child of page 2^31": pointer_to(2**31),
    "a freelist with a leaf of events": freelist_leaf,
    "a freelist that loops": freelist_loop,
    "two rowids of a leaf swapped": swap_rowids,
    "a rowid twice in a leaf": same_rowid,
    "a rowid in two leaves": rowid_of_other_leaf,
    "two cell pointers swapped": swap_pointers,
    "a cell pointer twice": one_pointer_twice,
    "two cells fewer": fewer_cells,
    "4,000 cells": more_cells,
    "a leaf that says interior": kind_of_leaf(0x05),
    "a leaf that says index": kind_of_leaf(0x0A),
    "a leaf of kind 0": kind_of_leaf(0),
    "a leaf of zeroes": zeroed(1),
    "the last leaf of zeroes": zeroed(-1),
    "a row that says text": record_header,
}
for at, (what, change) in enumerate(STRUCTURES.items()):
    TABLE.bytes("F15.%02d" % at, what, change, DAMAGED)


for at, length in enumerate((2**31, 2**31 - 1, 2**32, 2**60, 2**63, 100000, 65536, 1, 0)):

    def payload(world, length=length):
        path = good(world)
        data = bytearray(path.read_bytes())
        payload_of(length)(data)
        path.write_bytes(data)
        told = rejected(world, path, DAMAGED)
        demand(told.memory < 128 << 20, "%d MB of memory" % (told.memory >> 20))

    TABLE.add("F17.%s" % "abcdefghi"[at], "a payload that says %d bytes" % length, payload)


def overflowing():
    """L with a record that needs overflow pages."""
    made = ledger()
    event = made.event("x.unknown", {"a": "a" * 60000}, forger.BOB)
    data = forger.canonical(event)
    made.put(event, data, forger.BOB.sign(data))
    made.open(forger.BOB, "after")
    return made


def overflow_pages(data):
    size, count = pages(data)
    return [
        number
        for number in range(2, count + 1)
        if data[(number - 1) * size + 4 : (number - 1) * size + 400].count(b"a") > 390
    ]


for at, (what, target) in enumerate(
    (
        ("itself", lambda chain, n: chain[n]),
        ("the one before", lambda chain, n: chain[n - 1]),
        ("a leaf", lambda chain, n: 3),
        ("nothing", lambda chain, n: 0),
        ("beyond the file", lambda chain, n: 99999),
    )
):

    def overflow(world, target=target):
        overflowing().save(world.file)
        data = bytearray(world.file.read_bytes())
        size, _ = pages(data)
        chain = overflow_pages(data)
        demand(len(chain) > 2, "no overflow pages", chain)
        struct.pack_into(">I", data, (chain[1] - 1) * size, target(chain, 1))
        world.file.write_bytes(data)
        rejected(world, world.file, DAMAGED)

    TABLE.add("F16.%s" % "abcde"[at], "an overflow page whose next is " + what, overflow)


# --- F20: our own ledger, damaged while we were away ---
def remembered(world):
    """L as this machine's own, which it has written to and remembers the head of."""
    path = world.project / ".handoff" / "ledger.db"
    path.parent.mkdir()
    ledger().save(path)
    world.ok("trust", "add", forger.ROOT.public)
    world.ok("--key", world.root_key, "session", "open", "--agent", "mine")
    return path


def damaged_own(change):
    def judge(world):
        """`verify` sees it. A writer, which reads no more of the chain than it needs, may see it or
        not; but what it writes takes nothing away, and does not hide it."""
        path = remembered(world)
        if callable(change):
            data = bytearray(path.read_bytes())
            data = change(data) or data
            path.write_bytes(data)
        else:
            edit(path, change)
        told = world.json("verify")
        demand(told.code in (4, 5), "the damage is not seen", told)
        readable = told.document.get("events", 0)
        before = snapshot(path.parent)
        acknowledged = 0
        for turn in range(8):
            ran = world.json(
                *("--key", world.root_key, "session", "open", "--agent", "a%d" % turn),
                *("--purpose", "p" * 4000),
            )
            demand(ran.code in (0, 4, 5), "another exit", ran)
            acknowledged += ran.code == 0
            if ran.code:
                demand(ran.error.get("code") and ran.error.get("next"), "no reason", ran)
                break
        after = world.json("verify")
        demand(after.code in (4, 5), "the damage was hidden", after)
        demand(after.document.get("events", 0) >= readable, "events were lost", told, after)
        if not acknowledged:
            changed = difference(before, path.parent)
            demand(not changed, "the file was changed", changed)

    return judge


for at, (what, change) in enumerate(STRUCTURES.items()):
    TABLE.add("F20.a%02d" % at, "our own ledger, then an append: " + what, damaged_own(change))
OWN = {
    "a byte after the end": lambda data: data + b"\0",
    "a page after the end": lambda data: data + bytes(16384),
    "a page less": lambda data: data[:-16384],
    "freelist of nothing": lambda data: struct.pack_into(">I", data, 32, 3),
    "user version 2": lambda data: struct.pack_into(">I", data, 60, 2),
    "WAL": lambda data: data.__setitem__(slice(18, 20), b"\2\2"),
    "a guard gone": ["DROP TRIGGER event_no_delete"],
    "a trigger more": [TRIGGERS["ignore"]],
    "a table more": ["CREATE TABLE x(a)"],
    "a view for the table": ALTERED + [VIEW],
    "event 100 deleted": unguarded_statements("DELETE FROM event WHERE seq=100"),
    "the last event deleted": unguarded_statements("DELETE FROM event WHERE seq=%d" % COUNT),
    "event 100 edited": unguarded_statements("UPDATE event SET record=zeroblob(300) WHERE seq=100"),
    "the last event edited": unguarded_statements(
        "UPDATE event SET record=zeroblob(300) WHERE seq=%d" % COUNT
    ),
    "an event of rubbish at the end": ["INSERT INTO event VALUES(%d, zeroblob(300))" % (COUNT + 1)],
    "an event far away": unguarded_statements(
        "INSERT INTO event VALUES(9223372036854775807, zeroblob(300))"
    ),
}
for at, (what, change) in enumerate(OWN.items()):
    TABLE.add("F20.b%02d" % at, "our own ledger, then an append: " + what, damaged_own(change))


# --- F18: what is in the file and in no row ---
@TABLE.case("F18.a", "residue in free pages and slack is neither shown nor exported")
def residue(world):
    path = good(world)
    secret = b"RESIDUE-OF-A-DELETED-EVENT"
    edit(
        path,
        lambda sql: [
            sql("PRAGMA secure_delete=OFF"),
            sql("CREATE TABLE gone(a)"),
            [sql("INSERT INTO gone VALUES(?)", (secret * 500,)) for _ in range(20)],
            sql("DROP TABLE gone"),
        ],
    )
    demand(secret in path.read_bytes(), "no residue was left")
    told = world.verify(path)
    demand(told.code in (0, 4), "another exit", told)
    for command in (["export"], ["export", "--captures"], ["log"], ["state"]):
        ran = world.run("--trust", forger.ROOT.public, "--ledger", path, *command)
        demand(secret not in ran.out + ran.err, "residue was shown by %s" % command, ran)
    if told.code == 0:
        ran = world.run("--trust", forger.ROOT.public, "--ledger", path, "export")
        demand(ran.out == FULL.export(), "another export", ran)


@TABLE.case("F18.b", "an event hidden in a page's unused space")
def slack(world):
    path = good(world)
    data = bytearray(path.read_bytes())
    size, _ = pages(data)
    for number in leaves(data):
        base = (number - 1) * size
        count = struct.unpack_from(">H", data, base + 3)[0]
        content = struct.unpack_from(">H", data, base + 5)[0] or 65536
        gap = base + 8 + 2 * count, base + content
        if gap[1] - gap[0] > 200:
            data[gap[0] : gap[0] + 100] = b"HIDDEN-EVENT" * 8 + b"HIDE"
            break
    demand(b"HIDDEN-EVENT" in data, "no page has room")
    path.write_bytes(data)
    accepted(world, path, COUNT, head=FULL.head_line())
    ran = world.run("--trust", forger.ROOT.public, "--ledger", path, "export")
    demand(ran.out == FULL.export(), "another export", ran)


# --- F19: chance ---
def never_different(world, data, what):
    """Whatever the bytes: rejected, or accepted with the very same events and head."""
    with tempfile.NamedTemporaryFile(dir=world.evidence, suffix=".db", delete=False) as out:
        out.write(data)
    before = snapshot(world.evidence)
    ran = world.json("verify", "--trust", forger.ROOT.public, "--", out.name)
    demand(snapshot(world.evidence) == before, "the folder was changed", what)
    if ran.code == 0:
        demand(ran.document["result"] == "verified", "another result", ran)
        demand(ran.document["head"]["line"] == FULL.head_line(), "another head", what, ran)
        demand(ran.document["events"] == COUNT, "another count", what, ran)
    else:
        demand(ran.code in (3, 4, 5), "another exit", what, ran)
        demand(ran.document["result"] not in ("verified",), "another result", what, ran)
    os.unlink(out.name)


def mutations(world, kind, seed):
    """A few of what the fuzzing of the Rust tests does by the million."""
    chance = random.Random(seed)
    base = good(world).read_bytes()
    world.file.unlink()
    size, count = pages(base)
    for number in range(400 if world.long else 25):
        data = bytearray(base)
        if kind == "bytes":
            for _ in range(chance.choice((1, 1, 2, 8, 64))):
                data[chance.randrange(len(data))] = chance.randrange(256)
        elif kind == "bits":
            data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        elif kind == "head":
            for _ in range(chance.choice((1, 2, 4))):
                data[chance.randrange(600)] = chance.randrange(256)
        elif kind == "pages":
            one, two = [chance.randrange(1, count) * size for _ in range(2)]
            data[one : one + size], data[two : two + size] = (
                data[two : two + size],
                data[one : one + size],
            )
        else:
            at, length = chance.randrange(len(data)), chance.randrange(1, 5000)
            source = chance.randrange(len(data))
            data[at : at + length] = base[source : source + length]
        never_different(world, data, "%s, seed %d, turn %d" % (kind, seed, number))


for at, kind in enumerate(("bytes", "bits", "head", "pages", "splices")):
    TABLE.add(
        "F19.%s" % "abcde"[at],
        "random " + kind,
        lambda world, kind=kind, at=at: mutations(world, kind, 1000 + at),
    )


def mutated_export(world):
    chance = random.Random(77)
    base = FULL.export()
    for number in range(400 if world.long else 25):
        data = bytearray(base)
        for _ in range(chance.choice((1, 1, 2, 8))):
            data[chance.randrange(len(data))] = chance.randrange(256)
        if data == base:
            continue
        world.file.write_bytes(data)
        ran = world.json("verify", "--trust", forger.ROOT.public, "--", world.file)
        demand(ran.code != 0, "a changed export was accepted", number)


TABLE.add("F19.f", "random bytes of an export", mutated_export)
