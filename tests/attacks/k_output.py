"""K: what is printed, exported and imported."""

import base64
import json
import os
import random
import re

import forger
from harness import (
    EXITS,
    Expect,
    Table,
    accepted,
    classes,
    demand,
    good,
    hold,
    ledger,
    number_of,
    says,
    snapshot,
)

TABLE = Table("K")
FULL = ledger()
COUNT = FULL.count
SEQUENCES = {
    "CSI": "\x1b[31mred\x1b[0m",
    "clear": "\x1b[2J\x1b[H",
    "title": "\x1b]0;pwned\x07",
    "link": "\x1b]8;;http://evil/\x1b\\x\x1b]8;;\x1b\\",
    "DCS": "\x1bPq#0\x1b\\",
    "C1 CSI": "\x9b31m",
    "C1 OSC": "\x9d0;x\x9c",
    "CR": "good\rbad",
    "BS": "bad\b\b\bgood",
    "newline": "x\nverified 9 events",
    "CRLF": "x\r\nnext: handoff seal",
    "VT": "a\x0bb\x0cc",
    "NUL": "a\0b",
    "DEL": "a\x7fb",
    "NEL": "a\x85b",
    "LS": "a\u2028b\u2029c",
    "RLO": "\u202eslaever\u202c",
    "RLI": "\u2067x\u2069",
    "LRM": "a\u200eb\u200fc\u061cd",
    "ZW": "a\u200bb\u200cc\u200dd\u2060e\ufeff",
    "SHY": "a\u00adb",
    "tags": "x\U000e0041\U000e007f",
    "VS": "a\ufe0fb\U000e0100",
    "fillers": "a\u115fb\u3164c\uffa0d\u2800e",
    "interlinear": "a\ufff9b\ufffac\ufffb",
    "combining": "Z" + "\u0335" * 40,
    "noncharacter": "a\uffffb\U0010ffff",
    "private": "\ue000\uf8ff",
    "quotes": '"\'`\\"',
    "markdown": "[x](javascript:alert(1)) ``` <script>",
    "percent": "%s%n%p",
    "shell": "$(reboot) `reboot` ; | & > <",
    "json": '"},{"exit":0',
    "long": "w" * 4000,
    "mongolian": "a\u180eb",
    "invisible": "a\u2061b\u2064c\u206ad",
}


def raw(char):
    code = ord(char)
    return (
        code < 0x20
        or 0x7F <= code < 0xA0
        or code in (0xAD, 0x61C, 0x115F, 0x180E, 0x2800, 0x3164, 0xFEFF, 0xFFA0)
        or 0x200B <= code <= 0x200F
        or 0x2028 <= code <= 0x202E
        or 0x2060 <= code <= 0x206F
        or 0xFE00 <= code <= 0xFE0F
        or 0xFFF9 <= code <= 0xFFFB
        or 0xE0000 <= code <= 0xE0FFF
    )


def harmless(ran):
    for data in (ran.out, ran.err):
        for char in data.decode("utf-8"):
            demand(char == "\n" or not raw(char), "raw %r" % char, ran)
    for line in ran.text.splitlines():
        demand(
            not re.match(r"(verified \d|next: handoff seal$)", line)
            or ran.argv[-1] in ("verify",)
            or "verify" in ran.argv,
            "a forged line",
            ran,
        )


def hostile(text):
    """Every field of free text there is, filled with it, in lawful events."""
    made = ledger()
    mark = made.marks
    session = made.open(forger.BOB, "third", [mark["sealed"]], purpose=text + ".")
    seen = made.receipt(session, forger.AXIS_PROBE, "4")
    made.reverified(session, [{"axis": mark["axis"], "receipt": seen}])
    spoken = forger.probe(
        ["cat", text.replace("\0", "") + "."],
        expect=["value=4", "stdout~" + ("x" if len(text) > 1000 else re.escape(text))],
        env=["LANG"],
    )
    made.receipt(
        session,
        spoken,
        "4",
        files=[{"digest": "0" * 64, "path": text}],
        executable={"digest": "1" * 64, "path": text},
    )
    other = forger.probe(["cat", "value"])
    shown = made.receipt(session, other, text)
    axis = made.axis(session, "odd", shown)
    made.receipt(session, other, text)
    proof = made.receipt(session, forger.PROOF, "4")
    made.receipt(session, other, text)
    made.verified(session, "odd-claim", text + "!", [proof], [axis])
    made.verified(session, "odd-independent", text + "?", [proof], [], independent=text + ".")
    made.flag(session, "odd-flag", text + ";", spoken, derivation=text + ".")
    made.ambient(session, [{"name": "odd-weather", "observed": [text], "reason": text + "."}])
    made.within(session, "claim.retracted", {"claims": ["odd-independent"], "reason": text + "."})
    made.within(
        session, "action.gated", {"argv": [text], "claims": ["odd-claim"], "decision": "allowed"}
    )
    made.add("session.abandoned", {"reason": text + ".", "session": mark["open"]}, forger.BOB)
    made.revoke(forger.ALICE)
    made.add(
        "key.revoked",
        {"key": forger.ALICE.public, "reason": text + ".", "compromised_since": made.count - 1},
    )
    made.add("event.acknowledged", {"reason": text + ".", "up_to": 3})
    return made, session


COMMANDS = [
    ["log"],
    ["state"],
    ["brief"],
    ["session", "list"],
    ["key", "list"],
    ["why", "odd-claim"],
    ["can", "odd-claim"],
    ["can", "odd-flag"],
    ["impact", "odd"],
    ["verify"],
    ["export"],
    ["diff", "200..230"],
    ["state", "--at", "225"],
]
for at, (what, text) in enumerate(SEQUENCES.items()):

    def printed(world, text=text):
        made, session = hostile(text)
        made.save(world.file)
        told = world.verify(world.file)
        demand(told.document["result"] == "verified", "not lawful", told)
        shows = [["show", str(seq)] for seq in range(COUNT, made.count)]
        chosen = (
            COMMANDS + shows
            if world.long
            else (COMMANDS[world.sample() % 3 :: 3] + shows[world.sample() % 7 :: 7])
        )
        for command in chosen:
            argv = (
                [
                    "--ledger",
                    str(world.file),
                    "--trust",
                    forger.ROOT.public,
                    "--session",
                    str(session),
                ]
                if command[0] in ("state", "brief", "why", "can")
                else ["--ledger", str(world.file), "--trust", forger.ROOT.public]
            )
            if command == ["verify"]:
                argv = argv[2:]
                command = ["verify", "--", str(world.file)]
            ran = world.run(*argv, *command)
            if command[0] != "export":
                harmless(ran)
                ran = world.run("--json", *argv, *command, documented=command[0] != "log")
                demand(
                    all(0x20 <= one < 0x7F or one == 0x0A for one in ran.out), "raw in JSON", ran
                )
            else:
                demand(ran.out == made.export() or ran.code != 0, "another export", ran)

    TABLE.add(
        "K1.a%02d" % at, "in every text of a ledger, printed by every command: " + what, printed
    )


for at, (what, text) in enumerate(SEQUENCES.items()):

    def given(world, text=text):
        """On our own command line, where what is wrong is told with what was given."""
        world.ok("init")
        world.ok("session", "open", "--agent", "a")
        clean = text.replace("\0", "")
        commands = (
            ["claim", clean, "x", "--needs", "y", "--", "cat"],
            ["can", clean],
            ["show", clean],
            ["session", "open", "--agent", clean],
            ["retract", "x", "--reason", clean],
            ["axis", clean, "--class", clean, "--", "cat"],
            ["flag", "f", clean, "--because", clean, "--expect", "value=1", "--", "cat", clean],
            [clean],
            ["verify", clean],
            ["--ledger=" + clean, "state"],
            ["--key=" + clean, "key", "show"],
            ["--trust=" + clean, "verify"],
            ["--expect=" + clean, "verify"],
            ["probe", "--", clean],
            ["probe", "--expect", clean, "--", "cat"],
            ["key", "authorize", clean, "--label", clean],
            ["brief"],
            ["state"],
            ["log"],
        )
        for command in commands if world.long else commands[world.sample() % 3 :: 3]:
            ran = world.run(*command)
            demand(ran.code in range(0, 7), "another exit", ran)
            harmless(ran)

    TABLE.add("K1.b%02d" % at, "on the command line: " + what, given)


# --- K2: exports changed ---
def small():
    made = forger.Ledger(name="small")
    made.authorize(forger.ALICE, "alice")
    made.open(forger.ALICE, "agent")
    return made


def rejected_export(world, data, what):
    world.file.write_bytes(data)
    before = snapshot(world.evidence)
    ran = world.json("verify", "--trust", forger.ROOT.public, "--", world.file)
    demand(ran.code in (3, 4, 5), "accepted", what, ran)
    demand(ran.document["result"] != "verified", "accepted", what, ran)
    demand(EXITS[ran.document["result"]] == ran.code, "exit and result differ", what, ran)
    demand(snapshot(world.evidence) == before, "the folder was changed")
    target = world.evidence / "made.db"
    if world.long or number_of(what) % 8 == 0:
        ran = world.json("--trust", forger.ROOT.public, "import", world.file, "--to", target)
        demand(ran.code != 0 and not target.exists(), "imported", what, ran)


@TABLE.case("K2.a", "every bit of an export flipped (a part of them in the short form)")
def flipped(world):
    data = small().export()
    chance = random.Random(5)
    bits = range(len(data) * 8) if world.long else sorted(chance.sample(range(len(data) * 8), 120))
    for bit in bits:
        changed = bytearray(data)
        changed[bit // 8] ^= 1 << bit % 8
        rejected_export(world, bytes(changed), "bit %d" % bit)


@TABLE.case("K2.b", "every byte of an export left out or doubled (a part in the short form)")
def left_out(world):
    data = small().export()
    chance = random.Random(6)
    places = range(len(data)) if world.long else sorted(chance.sample(range(len(data)), 40))
    for at in places:
        rejected_export(world, data[:at] + data[at + 1 :], "without byte %d" % at)
        doubled = data[:at] + data[at : at + 1] * 2 + data[at + 1 :]
        rejected_export(world, doubled, "byte %d twice" % at)


LINES = {
    "the last line missing": lambda lines: lines[:-1],
    "a line missing": lambda lines: lines[:100] + lines[101:],
    "the first event missing": lambda lines: lines[:1] + lines[2:],
    "a line twice": lambda lines: lines[:100] + lines[99:],
    "two lines swapped": lambda lines: lines[:99] + [lines[100], lines[99]] + lines[101:],
    "the header missing": lambda lines: lines[1:],
    "the header twice": lambda lines: lines[:1] + lines,
    "the header last": lambda lines: lines[1:] + lines[:1],
    "an empty line": lambda lines: lines[:50] + [b"\n"] + lines[50:],
    "an empty line at the end": lambda lines: lines + [b"\n"],
    "a space before a line": lambda lines: lines[:50] + [b" " + lines[50]] + lines[51:],
    "a space after a line": lambda lines: lines[:50] + [lines[50][:-1] + b" \n"] + lines[51:],
    "CRLF": lambda lines: [line[:-1] + b"\r\n" for line in lines],
    "no newline at the end": lambda lines: lines[:-1] + [lines[-1][:-1]],
    "NUL at the end": lambda lines: lines + [b"\0"],
    "BOM": lambda lines: [b"\xef\xbb\xbf" + lines[0]] + lines[1:],
    "a comment": lambda lines: lines[:1] + [b"# x\n"] + lines[1:],
    "a capture of nothing": lambda lines: (
        lines + [b'{"capture":"%s","bytes":"%s","salt":"%s"}\n' % (b"0" * 64, b"eA==", b"0" * 32)]
    ),
    "a capture among the events": lambda lines: lines[:9] + [capture(forger.PRINTED)] + lines[9:],
    "a capture of other bytes": lambda lines: lines + [capture(b"5\n")],
    "a capture twice": lambda lines: lines + [capture(forger.PRINTED)] * 2,
    "an event after the captures": lambda lines: lines[:-1] + [capture(forger.PRINTED), lines[-1]],
    "a member more in an event's line": lambda lines: (
        lines[:9] + [lines[9][:-2] + b',"x":1}\n'] + lines[10:]
    ),
    "sig before event": lambda lines: (
        lines[:9]
        + [b'{"sig":"' + lines[9][-91:-3] + b'","event":' + lines[9][9:-99] + b"}\n"]
        + lines[10:]
    ),
    "an event as a string": lambda lines: (
        lines[:9] + [lines[9].replace(b'{"event":{', b'{"event":"{', 1)] + lines[10:]
    ),
    "cut in the middle of a line": lambda lines: lines[:-1] + [lines[-1][:200]],
    "only the header": lambda lines: lines[:1],
    "a line of another ledger": lambda lines: lines + [small().export().splitlines(True)[2]],
    "two exports": lambda lines: lines + lines,
}


def capture(data):
    return b'{"capture":"%s","bytes":"%s","salt":"%s"}\n' % (
        forger.OUTPUT["commitment"].encode(),
        base64.b64encode(data),
        forger.SALT.hex().encode(),
    )


for at, (what, change) in enumerate(LINES.items()):
    TABLE.add(
        "K2.c%02d" % at,
        "an export with " + what,
        lambda world, change=change, what=what: rejected_export(
            world, b"".join(change(FULL.export().splitlines(True))), what
        ),
    )
HEADERS = {
    "count less": {"count": COUNT - 1},
    "count more": {"count": COUNT + 1},
    "count 0": {"count": 0},
    "count -1": {"count": -1},
    "count as text": {"count": str(COUNT)},
    "count 1.0": {"count": forger.Raw("%d.0" % COUNT)},
    "count 0214": {"count": forger.Raw("0%d" % COUNT)},
    "count 2^64": {"count": 2**64},
    "another format": {"format": "handoff-ledger-export/v2"},
    "no format": {"format": ""},
    "another head": {"head": FULL.head_line(COUNT - 2)},
    "no head": {"head": ""},
    "another ledger": {"ledger": "0" * 64},
    "a ledger in capitals": {"ledger": FULL.id.upper()},
    "a member more": {"zzz": 1},
}
for at, (what, members) in enumerate(HEADERS.items()):
    TABLE.add(
        "K2.d%02d" % at,
        "an export whose header has " + what,
        lambda world, members=members, what=what: rejected_export(
            world, FULL.export(**members), what
        ),
    )


# --- K3: there and back ---
@TABLE.case("K3.a", "export, import, export: the same bytes, the same head")
def there_and_back(world):
    good(world)
    for more in ([], ["--captures"]):
        first = world.run("--ledger", world.file, "--trust", forger.ROOT.public, "export", *more)
        demand(first.code == 0, "no export", first)
        if not more:
            demand(first.out == FULL.export(), "not the export that the text says", first)
        source = world.evidence / ("e%d.jsonl" % len(more))
        source.write_bytes(first.out)
        target = world.evidence / ("i%d.db" % len(more))
        world.ok("--trust", forger.ROOT.public, "import", source, "--to", target)
        again = world.run("--ledger", target, "--trust", forger.ROOT.public, "export", *more)
        demand(again.out == first.out, "another export")
        accepted(world, target, COUNT, head=FULL.head_line())
        accepted(world, source, COUNT, head=FULL.head_line())


@TABLE.case("K3.b", "the forger's export is imported, and the file is the forger's file")
def forged_export(world):
    source = world.evidence / "in.jsonl"
    source.write_bytes(FULL.export())
    world.ok("--trust", forger.ROOT.public, "import", source, "--to", world.file)
    import sqlite3

    rows = (
        sqlite3.connect(world.file).execute("SELECT seq, record FROM event ORDER BY seq").fetchall()
    )
    demand(rows == list(enumerate(FULL.records)), "other records")


@TABLE.case("K3.c", "import of a tampered, a refused and an unpinned export")
def bad_imports(world):
    source = world.evidence / "in.jsonl"
    target = world.evidence / "out.db"
    made = ledger()
    made.records[100] = made.records[100][:-20] + b'"' + made.records[100][-19:]
    source.write_bytes(made.export())
    ran = world.json("--trust", forger.ROOT.public, "import", source, "--to", target)
    demand(ran.code != 0 and not target.exists(), "imported", ran)
    source.write_bytes(FULL.export())
    ran = world.json("import", source, "--to", target)
    demand(ran.code in (0, 3), "another exit", ran)


# --- K5: reports ---
@TABLE.case("K5", "a report of hostile texts is inert, where there is `report`")
def report(world):
    text = "<script>alert(1)</script><img src=x onerror=alert(2)>\"'>&lt;]]>--><!--`"
    made, session = hostile(text)
    made.save(world.file)
    target = world.evidence / "report.html"
    ran = world.run(
        "--ledger",
        world.file,
        "--trust",
        forger.ROOT.public,
        "--session",
        session,
        "report",
        "-o",
        target,
    )
    if ran.code == 2 and b"no command" in ran.err:
        return
    demand(target.exists(), "no report", ran)
    page = target.read_text("utf-8")
    demand("<script>alert" not in page and "<img src=x" not in page, "not escaped")
    demand(
        "javascript:" not in page and "http://" not in page.replace("http://www.w3.org", ""),
        "something is loaded",
    )


# --- K6: exit, text and JSON of failures ---
FAILURES = (
    ["nonsense"],
    ["verify", "--nonsense"],
    ["show", "99999"],
    ["show", "-1"],
    ["show", "x"],
    ["can", "nobody"],
    ["state", "--at", "99999"],
    ["seal"],
    ["retract", "nobody", "--reason", "r"],
    ["claim", "BAD", "x", "--needs", "y", "--", "cat"],
    ["axis", "a", "--class", "none", "--", "cat"],
    ["promote", "nobody", "--needs", "x"],
    ["session", "abandon", "77", "--reason", "r"],
    ["key", "revoke", forger.BOB.public, "--reason", "r"],
    ["trust", "remove", "x"],
    ["import", "nowhere.jsonl"],
    ["verify", "nowhere.db"],
    ["init"],
    ["why", "nobody"],
    ["discard", "nobody", "--reason", "r"],
    ["acknowledge", "99", "--reason", "r"],
    ["--session", "77", "state"],
    ["--ledger", "nowhere.db", "state"],
    ["--key", "nowhere.pem", "seal"],
    ["--wait", "x", "head"],
    ["--expect", "x", "verify"],
    ["probe"],
    ["flag"],
    ["ambient"],
    ["resume"],
    ["help", "nonsense"],
)
for at, command in enumerate(FAILURES):

    def agrees(world, command=command):
        world.ok("init")
        world.ok("session", "open", "--agent", "a")
        before = (world.project / ".handoff/ledger.db").read_bytes()
        text = world.run(*command)
        told = world.json(*command)
        plain = "--" not in command and command[0] != "help"
        again = world.run(*command, "--json") if plain else told
        demand(text.code == told.code == again.code, "the exits differ", text, told, again)
        demand(told.code != 0, "no failure", told)
        demand(told.error.get("code") or told.code == 1, "no code", told)
        if told.error:
            demand(told.error.get("message"), "no message", told)
            demand(told.error.get("next"), "no command to type next", told)
            demand(
                told.error["message"].encode() in text.err + text.out
                or "\\" in told.error["message"],
                "the text says something else",
                text,
                told,
            )
        if told.code >= 2:
            demand((world.project / ".handoff/ledger.db").read_bytes() == before, "written")

    TABLE.add("K6.%02d" % at, "exit, text and JSON of `%s`" % " ".join(command), agrees)


# --- K7: another implementation: the forger's own arithmetic ---
@TABLE.case("K7", "the head of every prefix, as the forger computes it")
def heads(world):
    for count in range(1, COUNT + 1, 1 if world.long else 27):
        made = ledger().truncate(count)
        made.save(world.file)
        told = world.json("verify", "--trust", forger.ROOT.public, "--", world.file)
        demand(told.document["head"]["line"] == made.head_line(), "another head", count, told)
        demand(told.document["ledger"] == made.id, "another ledger id", told)
        demand(told.document["root"] == tree(made.records), "another tree root", count, told)
        os.unlink(world.file)


def tree(records):
    """RFC 6962 section 2.1."""
    if len(records) == 1:
        return forger.leaf(records[0])
    split = 1
    while split * 2 < len(records):
        split *= 2
    left, right = bytes.fromhex(tree(records[:split])), bytes.fromhex(tree(records[split:]))
    return forger.sha256(b"\1" + left + right).hex()


@TABLE.case("K8.a", "--json of log: one document a line, as many as there are events")
def lines_of_log(world):
    good(world)
    ran = world.run(
        "--json", "--ledger", world.file, "--trust", forger.ROOT.public, "log", documented=False
    )
    documents = [json.loads(line) for line in ran.out.splitlines()]
    demand(ran.code == 0 and len(documents) >= COUNT, "no log", ran)


@TABLE.case("K8.b", "1,000 faults and more: the list is cut, and the total is told")
def many_faults(world):
    made = forger.Ledger(name="faults")
    event = made.event("session.opened", {"agent": "x", "inherits": [], "scope": forger.SCOPE})
    data = forger.canonical(event)
    for _ in range(3000):
        made.put(event, data, bytes(64))
    made.save(world.file)
    told = world.verify(world.file)
    hold(told, Expect({"tampered"}, faults=classes("SIG"), at=1, events=1))
    demand(len(told.document["faults"]) <= 1000, "a longer list", len(told.document["faults"]))
    demand(told.document["faults_total"] >= 3000, "another total", told.document["faults_total"])
    says(told, "more faults")
